"""What a document claims: lines, chains of equations, definitions, identities, sizes, and what is said of each. Imports
document, latex, value."""
