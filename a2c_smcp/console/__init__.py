"""The web console: pages for the Server's operator and a Computer's owner, and the API under them.

`web/` is what both share. `hub/` is the Server's half. A process loads none of it before the first request for a page.
"""
