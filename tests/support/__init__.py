"""What several tests share: servers, tenants and factories with valid defaults, one module for each capability."""
