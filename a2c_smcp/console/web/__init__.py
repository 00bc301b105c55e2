"""What both consoles share: sessions, the rules of requests, pages, static files, streams of events, and the
description of the API. It knows nothing of Servers and Computers."""
