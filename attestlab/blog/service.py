"""Service of the blog: write, change, publish, archive and read posts, and upload pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from attestlab.blog import rules, store
from attestlab.blog.rules import PostStatus
from attestlab.blog.shapes import BlogPostIn, BlogPostPatch, BlogPostsQuery, PublicPostsQuery
from attestlab.blog.store import Place
from attestlab.blog.tables import BlogMediumRecord, BlogPostRecord, BlogSlugRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.pictures import detect_media_type
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.core.records.row_digest import row_sha256
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.orgs.tables import UserRecord
from attestlab.web.etags import is_unchanged

MAX_MEDIUM_BYTES = 512 * 1024


class Blog:
    """The operator's blog. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, portal_url: str) -> None:
        self.storage = storage
        self.clock = clock
        self.portal_url = portal_url

    def create(self, post: BlogPostIn, *, caller: Caller, tx: Transaction | None = None) -> BlogPostRecord:
        """Write a draft.

        Raises:
            ValidationFailed: a field is wrong, or no slug can be derived from the title.
            Conflict: another post has or had the slug.
        """
        title = validate_display_name("title", post.title)
        slug = rules.derive_slug(title) if post.slug is None else post.slug
        content = rules.validate_content(post.content)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            self._require_cover(tx, post.cover_image_url)
            _require_free(tx, slug)
            row = BlogPostRecord(
                id=new_id(now),
                title=title,
                slug=slug,
                category=post.category.value,
                content=content,
                excerpt=post.excerpt,
                cover_image_url=post.cover_image_url,
                tags=store.encode_tags(list(dict.fromkeys(post.tags))),
                status=PostStatus.DRAFT.value,
                author_id=caller.actor_id,
                author_name=_name_author(tx, caller),
                created_at=now,
                updated_at=now,
            )
            return audited_write.insert(tx, store.posts, row, _context(caller, "create", now))

    def get(self, post_id: UUID) -> BlogPostRecord:
        """Return a post in any state.

        Raises:
            NotFound: there is no such post.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, post_id)

    def page(
        self,
        query: BlogPostsQuery = BlogPostsQuery(),  # noqa: B008 frozen
        *,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[BlogPostRecord]:
        """List posts of any state, newest first."""
        with self.storage.read() as connection:
            return store.page(connection, query, before=before, limit=limit)

    def page_published(
        self,
        query: PublicPostsQuery = PublicPostsQuery(),  # noqa: B008 frozen
        *,
        after: Place | None = None,
        limit: int = 50,
    ) -> Sequence[BlogPostRecord]:
        """List published posts, newest publication first."""
        with self.storage.read() as connection:
            return store.page_published(connection, query, after=after, limit=limit)

    def find(self, slug: str, *, tx: Transaction | None = None) -> BlogPostRecord:
        """Return the post that has or had a slug, if it was ever published.

        Raises:
            NotFound: no post has or had this slug, or it is a draft.
        """
        row = self.storage.cached_read(
            ("blog post", slug), lambda connection: store.find_by_slug(connection.execute, slug), tx
        )
        if row is None or row.status == PostStatus.DRAFT:
            raise NotFound("blog post", slug)
        return row

    def update(
        self,
        post_id: UUID,
        patch: BlogPostPatch,
        *,
        if_match: str | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> BlogPostRecord:
        """Change the given fields of a post; `if_match` is the header by which a client guards against lost updates.

        Raises:
            NotFound: there is no such post.
            ValidationFailed: a field is wrong.
            Conflict: another post has or had the slug, or the post is not the one that `if_match` names.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, post_id)
            _require_match(row, if_match)
            now = self.clock.now()
            changes = self._read_changes(tx, patch)
            slug = str(changes.get("slug", row.slug))
            _require_free(tx, slug, but_of=row.id)
            if row.published_at is not None:
                _keep_slug(tx, slug, row.id, caller, now)
            changed = {**changes, "updated_at": now}
            return audited_write.change(tx, store.posts, row, changed, _context(caller, "update", now))

    def _read_changes(self, tx: Transaction, patch: BlogPostPatch) -> Mapping[str, object]:
        given = patch.model_dump(exclude_unset=True)
        if "title" in given:
            given["title"] = validate_display_name("title", patch.title)
        if "content" in given:
            rules.validate_content(patch.content)
        if "category" in given:
            given["category"] = patch.category.value
        if "tags" in given:
            given["tags"] = store.encode_tags(list(dict.fromkeys(patch.tags)))
        self._require_cover(tx, patch.cover_image_url)
        return given

    def _require_cover(self, tx: Transaction, address: str | None) -> None:
        if address is None:
            return
        rules.require_cover_form(address)
        medium = rules.find_medium(address)
        if medium is not None and store.find_medium(tx.exec, medium) is None:
            message = f"No picture {medium} was uploaded. Upload it first: POST /v1/platform/blog/media."
            raise ValidationFailed.of("/cover_image_url", "unknown", message)

    def publish(self, post_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> BlogPostRecord:
        """Publish a draft or an archived post; it keeps the time of its first publication.

        Raises:
            NotFound: there is no such post.
            Conflict: it is published already.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, post_id)
            rules.require_publishable(PostStatus(row.status))
            now = self.clock.now()
            _keep_slug(tx, row.slug, row.id, caller, now)
            changes = {
                "status": PostStatus.PUBLISHED.value,
                "published_at": row.published_at or now,
                "updated_at": now,
            }
            return audited_write.change(tx, store.posts, row, changes, _context(caller, "publish", now))

    def archive(self, post_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> BlogPostRecord:
        """Take a published post off the pages; its address stays taken.

        Raises:
            NotFound: there is no such post.
            Conflict: it is not published.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, post_id)
            rules.require_published(PostStatus(row.status))
            now = self.clock.now()
            changes = {"status": PostStatus.ARCHIVED.value, "updated_at": now}
            return audited_write.change(tx, store.posts, row, changes, _context(caller, "archive", now))

    def delete(self, post_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Delete a draft with its texts; its slug is free again.

        Raises:
            NotFound: there is no such post.
            Conflict: it was published.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, post_id)
            rules.require_draft(PostStatus(row.status))
            now = self.clock.now()
            texts = {"title": "", "content": "", "excerpt": "", "tags": "[]", "cover_image_url": None}
            changes = {**texts, "slug": str(row.id), "deleted_at": now}
            audited_write.change(tx, store.posts, row, changes, _context(caller, "delete", now))

    def upload(self, content: bytes, *, caller: Caller, tx: Transaction | None = None) -> BlogMediumRecord:
        """Store a picture; the same bytes are stored once.

        Raises:
            PayloadTooLarge, UnsupportedMediaType: the picture is not allowed, see `detect_media_type`.
        """
        media_type = detect_media_type(content, limit_bytes=MAX_MEDIUM_BYTES, noun="picture")
        sha256 = hashlib.sha256(content).hexdigest()
        with self.storage.write(tx) as tx:
            found = store.find_medium(tx.exec, sha256)
            if found is not None:
                return found
            now = self.clock.now()
            deed = AuditContext(caller.tenant_id, caller, "blog_medium.upload", now)
            return audited_write.insert(tx, store.media, BlogMediumRecord(sha256, media_type, content, now), deed)

    def get_medium(self, sha256: str) -> BlogMediumRecord:
        """Return a picture.

        Raises:
            NotFound: none with this SHA-256 was uploaded.
        """
        with self.storage.read() as connection:
            row = store.find_medium(connection.execute, sha256)
        if row is None:
            raise NotFound("picture", sha256)
        return row

    def url(self, slug: str) -> str:
        """Return the address of a post's page."""
        return f"{self.portal_url}/blog/{slug}"


def version_of(row: BlogPostRecord) -> str:
    """Return the entity tag of a post: it changes with each change of the post (RFC 9110, section 8.8.3)."""
    return f'"{row_sha256(store.posts, row._asdict())[:24]}"'


def _require_match(row: BlogPostRecord, if_match: str | None) -> None:
    """Require that a client changes the post that it has read."""
    if not is_unchanged(version_of(row), if_match):
        message = "The post was changed since you read it. Read it again, and send its new ETag in If-Match."
        raise Conflict(message, details={"reason": "stale"})


def _require_free(tx: Transaction, slug: str, *, but_of: UUID | None = None) -> None:
    taken = store.find_by_slug(tx.exec, slug)
    if taken is not None and taken.id != but_of:
        message = f"Another post has the slug {slug!r}, or was public under it. Send another slug."
        raise Conflict(message, details={"slug": slug})


def _keep_slug(tx: Transaction, slug: str, post_id: UUID, caller: Caller, now: datetime) -> None:
    """Keep a public slug for its post for good, so that links to it lead to the post."""
    if not store.has_slug(tx.exec, slug):
        deed = AuditContext(caller.tenant_id, caller, "blog_slug.keep", now)
        audited_write.insert(tx, store.slugs, BlogSlugRecord(slug, post_id, now), deed)


def _name_author(tx: Transaction, caller: Caller) -> str:
    """Return the name of the person who writes, or of the tenant in whose name a service does."""
    if caller.actor_type != "USER":
        return org_store.get_tenant(tx.exec, caller.tenant_id).name
    user = org_store.get_owned(tx.exec, UserRecord, UUID(caller.actor_id), tenant_id=caller.tenant_id)
    return user.name


def _context(caller: Caller, verb: str, at: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, f"blog_post.{verb}", at)
