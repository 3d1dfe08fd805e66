"""`python -m attestlab_dashboards`: the process that the server starts; it reads its configuration from stdin."""

from attestlab_dashboards import server

if __name__ == "__main__":
    server.run()
