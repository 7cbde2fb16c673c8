"""What the recipes of pictures have in common on the command line."""

DATA = (
    "digits (8×8, nothing to download), mnist, fashion, cifar, a folder with SVHN's two .mat files, "
    "or a folder that has a folder of pictures for each class"
)
INPUT = "Give a picture file, or the number of a test picture: --input 7."
