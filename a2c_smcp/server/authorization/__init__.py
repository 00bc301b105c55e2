"""Logins of MCP hosts with OAuth, for Servers without an OpenID provider: a person enters a key of the Server, and the
host gets tokens for one office, which are valid as long as the key."""
