"""Marks that programs for generating pictures are known to leave, and where each of them is published.

A mark is a statement of the file, which any program can write or remove. Its absence shows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from attestlab.risk.media.containers.metadata import NamedText


class NameMark(NamedTuple):
    """A generator's name, as programs write it into `Software`, `CreatorTool` and similar fields."""

    generator: str
    pattern: re.Pattern[str]
    source: str


class ParameterMark(NamedTuple):
    """Generation parameters: a text of one of these names that contains all of these pieces."""

    generator: str
    names: tuple[str, ...]
    pieces: tuple[str, ...]
    source: str


class GeneratorMark(NamedTuple):
    """A mark that was found: which generator, in which part of the file."""

    generator: str
    place: str


def _name(generator: str, pattern: str, source: str) -> NameMark:
    return NameMark(generator, re.compile(rf"(?<![a-z0-9])(?:{pattern})(?![a-z])", re.IGNORECASE), source)


NAME_MARKS = (
    _name("Adobe Firefly", "adobe[ _]firefly", "Adobe, Content Credentials for generative AI features"),
    _name("ComfyUI", "comfyui", "comfyanonymous/ComfyUI, nodes.py"),
    _name("DALL-E", r"dall[-·. ]e|dalle[-_ ]?[234]", "OpenAI, help article 8912793, C2PA in DALL-E 3"),
    _name("ChatGPT", "chatgpt|gpt-image|gpt-4o", "OpenAI, help article 8912793, C2PA in DALL-E 3"),
    _name("Fooocus", "fooocus", "lllyasviel/Fooocus, modules/meta_parser.py, EXIF Software"),
    _name("Google AI", "made with google ai", "Google, IPTC Credit of pictures by Gemini and Imagen"),
    _name("InvokeAI", "invokeai", "invoke-ai/InvokeAI, image_files_disk.py"),
    _name("Midjourney", "midjourney", "Midjourney, IPTC metadata of its pictures (IPTC news, 2023)"),
    _name("NovelAI", "novelai", "NovelAI/novelai-image-metadata, PNG Software"),
    _name("Stable Diffusion", "stable[ _-]?diffusion", "NovelAI/novelai-image-metadata, PNG Source"),
    _name("SwarmUI", "(?:stable)?swarmui", "mcmonkeyprojects/SwarmUI, docs/Image Metadata Format.md"),
)
NAMING_FIELDS = frozenset(
    {"software", "creatortool", "softwareagent", "credit", "aisystemused", "source", "artist", "generator", "author"}
)

_COMMENTS = ("parameters", "UserComment", "ImageDescription", "Comment")
PARAMETER_MARKS = (
    ParameterMark(
        "Stable Diffusion web UI",
        _COMMENTS,
        ("Steps: ", "Sampler: "),
        "AUTOMATIC1111/stable-diffusion-webui, modules/images.py",
    ),
    ParameterMark(
        "SwarmUI", _COMMENTS, ('"sui_image_params"',), "mcmonkeyprojects/SwarmUI, docs/Image Metadata Format.md"
    ),
    ParameterMark(
        "Fooocus", _COMMENTS, ('"base_model"', '"full_prompt"'), "lllyasviel/Fooocus, modules/meta_parser.py"
    ),
    ParameterMark(
        "ComfyUI",
        ("prompt", "Make", "Model", "ImageDescription"),
        ('"class_type"', '"inputs"'),
        "comfyanonymous/ComfyUI, nodes.py",
    ),
    ParameterMark(
        "ComfyUI",
        ("workflow", "Make", "Model", "ImageDescription"),
        ('"nodes"', '"links"'),
        "comfyanonymous/ComfyUI, nodes.py",
    ),
    ParameterMark(
        "InvokeAI", ("invokeai_metadata", "invokeai_graph"), ("{",), "invoke-ai/InvokeAI, image_files_disk.py"
    ),
    ParameterMark(
        "NovelAI",
        ("Comment",),
        ('"prompt"', '"sampler"', '"steps"'),
        "NovelAI/novelai-image-metadata, nai_meta.py",
    ),
)


_NAMES_OF_PARAMETERS = frozenset(name for mark in PARAMETER_MARKS for name in mark.names)


def unfold_comments(texts: Iterable[NamedText]) -> Iterator[NamedText]:
    """Yield texts, and of a comment that is a JSON object the members that generators write into it."""
    for text in texts:
        yield text
        if text.name not in _COMMENTS or not text.text.startswith("{"):
            continue
        try:
            members = orjson.loads(text.text)
            for name in _NAMES_OF_PARAMETERS & members.keys():
                member = members[name]
                yield NamedText(text.place, name, member if isinstance(member, str) else orjson.dumps(member).decode())
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # no JSON, or nested too deep to be written again
            continue


def find_names(texts: Iterable[NamedText]) -> list[GeneratorMark]:
    """Find generators that the naming fields of a file name."""
    return [
        GeneratorMark(mark.generator, f"{text.place} {text.name}")
        for text in texts
        if text.name.lower() in NAMING_FIELDS
        for mark in NAME_MARKS
        if mark.pattern.search(text.text)
    ]


def find_parameters(texts: Iterable[NamedText]) -> list[GeneratorMark]:
    """Find generation parameters: by their name and their shape, because the names alone are ordinary words."""
    return [
        GeneratorMark(mark.generator, f"{text.place} {text.name}")
        for text in texts
        for mark in PARAMETER_MARKS
        if text.name in mark.names and all(piece in text.text for piece in mark.pieces)
    ]
