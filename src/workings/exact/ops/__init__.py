"""Operations with a rule of their own; importing a file registers its rules."""
