"""The requirements of the routes of risk (CONTRACT section 3)."""

from attestlab.orgs.rules import Role
from attestlab.web.routing.authorization import Requirement

READERS = Requirement(tenant_only=True)
WRITERS = Requirement(tenant_only=True, people_roles=(Role.OWNER, Role.ADMIN, Role.ANALYST))
