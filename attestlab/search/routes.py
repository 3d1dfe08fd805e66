"""HTTP route of the search."""

from __future__ import annotations

from functools import partial

from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.role_rules import DATA_READERS
from attestlab.orgs.rules import Caller
from attestlab.search.results import SearchMatch
from attestlab.search.service import Search
from attestlab.search.shapes import FoundOut, SearchOut, TenantSearchQuery
from attestlab.web.executor import Executor
from attestlab.web.routing.routes import Routes

routes = Routes("search")
_render = RowRenderer(FoundOut, SearchMatch)


@routes.get("/v1/search", scope=DATA_READERS)
async def search_tenant(query: TenantSearchQuery, caller: Caller, search: Search, executor: Executor) -> SearchOut:
    """Find anything of the tenant by the beginning of an id or hash, or by a part of a name.

    Ids and hashes are found from 4 characters on, names by any part. The answer has only what the caller may read:
    a type without its scope is left out, without an error.
    """
    found = await executor.run_in_thread(partial(search.find, query, caller=caller))
    return SearchOut(items=list(map(_render, found.items)), truncated=found.truncated)
