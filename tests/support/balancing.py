"""nginx in front of the nodes of a cluster, without affinity."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx

from tests.support.process import free_port
from tests.support.programs import find

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
events {{}}
http {{
  access_log off; client_max_body_size 100m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
  upstream nodes {{ {servers} }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://nodes;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_next_upstream error timeout http_503;
      proxy_connect_timeout 1s;
      proxy_read_timeout 3600s;
    }}
  }}
}}
"""


@contextlib.contextmanager
def balanced(folder: Path, ports: list[int]) -> Generator[str]:
    """nginx in front of the nodes, which gives each connection to the next of them."""
    port = free_port()
    servers = " ".join(f"server 127.0.0.1:{node} max_fails=1 fail_timeout=1s;" for node in ports)
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, servers=servers), "utf-8")
    command = [find("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(config)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
                http.get(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
