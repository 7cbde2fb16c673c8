"""Operations with a rule of their own: sums and products, linear algebra, convolutions, losses, attention …

Importing a file registers its rules, so `workings.exact` imports them all. Imports dispatch and what dispatch imports;
attention also `workings.equations`.
"""
