"""Import of a post from a Markdown file, with the pictures beside it, in one unit of work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from attestlab.blog import rules, store
from attestlab.blog.markdown import list_pictures
from attestlab.blog.post_file import PostFile, parse_post_file, refuse_line
from attestlab.blog.rules import PostStatus
from attestlab.blog.service import MAX_MEDIUM_BYTES, Blog
from attestlab.blog.shapes import BlogPostIn, BlogPostPatch
from attestlab.blog.tables import BlogPostRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import quote
from attestlab.core.errors import AttestLabError, ValidationFailed
from attestlab.core.pictures import detect_media_type
from attestlab.orgs.rules import Caller
from attestlab.web.validation import validate_document


class ImportedPost(NamedTuple):
    """What an import did."""

    row: BlogPostRecord
    is_new: bool
    pictures: int


def import_post(
    blog: Blog, file: Path, *, publish: bool, caller: Caller, tx: Transaction | None = None
) -> ImportedPost:
    """Write the post of a file, or update the post that has or had its slug.

    Raises:
        ValidationFailed: the file is no post; the message names its line. Nothing was stored.
        OSError: it cannot be read.
    """
    parsed = parse_post_file(_read_text(file), name=file.name)
    pictures = _read_pictures(parsed, file.parent)
    try:
        with blog.storage.write(tx) as tx:
            addresses = {name: _upload(blog, content, caller, tx) for name, content in pictures.items()}
            post = validate_document(BlogPostIn, _fill_in(parsed, addresses))
            row, is_new = _write(blog, post, caller, tx)
            if publish and row.status != PostStatus.PUBLISHED:
                row = blog.publish(row.id, caller=caller, tx=tx)
    except ValidationFailed as error:
        parsed.refuse(error)
    return ImportedPost(row, is_new, len(pictures))


def _write(blog: Blog, post: BlogPostIn, caller: Caller, tx: Transaction) -> tuple[BlogPostRecord, bool]:
    """Create a draft, or update the post with the slug, whose present address stays."""
    found = store.find_by_slug(tx.exec, post.slug or rules.derive_slug(post.title))
    if found is None:
        return blog.create(post, caller=caller, tx=tx), True
    patch = BlogPostPatch.model_validate(post.model_dump(exclude={"slug"}))
    return blog.update(found.id, patch, caller=caller, tx=tx), False


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValidationFailed(f"{file.name} is not UTF-8. Save it as UTF-8.") from None


def _read_pictures(parsed: PostFile, folder: Path) -> dict[str, bytes]:
    """Read the pictures that the header and the text name by a relative path."""
    cover = [name for name in (parsed.values.get("cover"),) if name]
    named = [name for name in (*cover, *list_pictures(parsed.content)) if _is_relative(name)]
    return {name: _read_picture(parsed, folder, name) for name in named}


def _read_picture(parsed: PostFile, folder: Path, name: str) -> bytes:
    path = (folder / unquote(name)).resolve()
    line = _find_line(parsed, name)
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        refuse_line(
            parsed.name, line, f"There is no picture {quote(name[:80])} in the folder of the file. Put it there."
        )
    try:
        with path.open("rb") as opened:
            content = opened.read(MAX_MEDIUM_BYTES + 1)
        detect_media_type(content, limit_bytes=MAX_MEDIUM_BYTES, noun="picture")
    except AttestLabError as error:
        refuse_line(parsed.name, line, f"{name}: {error.message}")
    return content


def _find_line(parsed: PostFile, name: str) -> int | None:
    """Return the line of the header that names a picture; a text may name it in many places."""
    return parsed.lines["cover"] if parsed.values.get("cover") == name else None


def _is_relative(address: str) -> bool:
    return not address.startswith(("/", "#")) and not urlsplit(address).scheme


def _upload(blog: Blog, content: bytes, caller: Caller, tx: Transaction) -> str:
    return rules.MEDIA_PATH + blog.upload(content, caller=caller, tx=tx).sha256


def _fill_in(parsed: PostFile, addresses: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the post with the addresses of its uploaded pictures."""
    fields = parsed.fields()
    content = parsed.content
    for name, address in addresses.items():
        for written in {name, unquote(name)}:
            content = re.sub(rf"(\](?:\(|:)\s*<?){re.escape(written)}(?=[>\s)]|$)", rf"\g<1>{address}", content)
    for name in filter(_is_relative, list_pictures(content)):
        refuse_line(parsed.name, None, f"Write the picture {quote(name[:80])} as ![words]({name}).")
    cover = str(fields.get("cover_image_url", ""))
    return {**fields, "content": content, **({"cover_image_url": addresses[cover]} if cover in addresses else {})}
