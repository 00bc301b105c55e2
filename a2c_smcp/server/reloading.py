"""Reloads limits, TLS certificate, keys and log level while the Server runs, on SIGHUP: all of them, or none."""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import uvicorn

from a2c_smcp.server.app import SMCPApp, transport_limit
from a2c_smcp.server.auth import AuthenticationProvider, CredentialAuthenticationProvider
from a2c_smcp.server.key_file import KeyFile
from a2c_smcp.server.settings import LIMITS, ServerSettings

logger = logging.getLogger(__name__)

RELOADABLE = frozenset((*LIMITS, "grace", "log_level", "ssl_certfile", "ssl_keyfile"))
"""Settings that can change. The log line names all others that differ, which need a restart."""


class Reload:
    """Reads settings, keys and certificate again when it is called, and applies what can change."""

    def __init__(
        self,
        settings: ServerSettings,
        load: Callable[[], ServerSettings],
        app: SMCPApp,
        config: uvicorn.Config,
        provider: AuthenticationProvider | None,
    ) -> None:
        self._settings = settings
        self._load = load
        self._app = app
        self._config = config
        self._key_files = key_files(provider)
        self._certificate: Certificate | None = None
        with contextlib.suppress(ValueError):  # a key with a password, which was typed when the Server started
            self._certificate = Certificate.of(settings)

    def __call__(self) -> None:
        """Reload, and log one line."""
        # Everything is read and checked before anything is applied. A mistake in one file leaves all of them as they
        # were: a Server with half of its new settings would be harder to understand than one with the old.
        try:
            settings = self._load()
            settings.check_tls()
            keys = [(file, file.read()) for file in self._key_files]
            certificate = Certificate.of(settings)
        except (OSError, ValueError) as error:
            logger.error("reload failed, nothing was changed: %s", error)
            return
        changes, pending = self._take(settings)
        if certificate is not None and self._config.ssl is not None and certificate != self._certificate:
            # An SSLContext in use takes a new certificate for new connections; open ones keep the old.
            self._config.ssl.load_cert_chain(certificate.certfile, certificate.keyfile)
            changes.append(f"certificate {self._certificate} → {certificate}")
            self._certificate = certificate
        for file, found in keys:
            if changed := file.take(found):
                changes.append(f"{file.path}: {changed}")
        if pending:
            changes.append(f"not changed before a restart: {', '.join(pending)}")
        logger.info("reloaded: %s", "; ".join(changes) or "nothing changed")

    def _take(self, settings: ServerSettings) -> tuple[list[str], list[str]]:
        """Apply settings; which changed, and which need a restart."""
        before = self._settings
        names = [name for name in ServerSettings.model_fields if getattr(before, name) != getattr(settings, name)]
        if (before.ssl_certfile is None) != (settings.ssl_certfile is None):  # whether there is TLS cannot change
            fixed = {"ssl_certfile", "ssl_keyfile"}
        else:
            fixed = set[str]()
        updates = {name: getattr(settings, name) for name in names if name in RELOADABLE - fixed}
        changes = [f"{name} {_text(getattr(before, name))} → {_text(value)}" for name, value in updates.items()]
        # Only what is in force is remembered: a setting that needs a restart is reported again at the next reload.
        self._settings = after = before.model_copy(update=updates)
        if after.limits != before.limits:
            self._app.limit(after.limits)
            self._config.ws_max_size = transport_limit(after.limits)
            self._gate.limit(after.connections_per_ip)
        self._app.grace = after.grace
        if "log_level" in updates:
            logging.getLogger().setLevel(after.log_level.upper())
        return changes, [name for name in names if name not in updates]

    @property
    def _gate(self) -> Any:
        http: Any = self._config.http_protocol_class
        return http.gate


@dataclass(frozen=True)
class Certificate:
    """A TLS certificate that can be served."""

    certfile: Path
    keyfile: Path
    serial: int
    ends: datetime

    @classmethod
    def of(cls, settings: ServerSettings) -> Certificate | None:
        """The certificate that the settings name; None if there is no TLS.

        Raises:
            ValueError: the files are not a certificate and its key.
            OSError: one of them cannot be read.
        """
        from cryptography import x509

        if settings.ssl_certfile is None or settings.ssl_keyfile is None:
            return None
        certfile, keyfile = settings.ssl_certfile, settings.ssl_keyfile
        try:
            first = x509.load_pem_x509_certificate(certfile.read_bytes())
            # Into a context of its own: a key that does not match must not reach the one in use.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile, password=_nobody_to_ask)
        except ssl.SSLError as error:
            reason = "the key does not belong to the certificate" if "MISMATCH" in str(error) else str(error)
            raise ValueError(f"{certfile}, {keyfile}: {reason}") from None
        except ValueError as error:
            raise ValueError(f"{certfile}: not a certificate in PEM form: {error}") from None
        return cls(certfile, keyfile, first.serial_number, first.not_valid_after_utc)

    def __str__(self) -> str:
        return f"{self.serial:x} (valid until {self.ends:%Y-%m-%d})"


def key_files(provider: AuthenticationProvider | None) -> list[KeyFile]:
    """The key files that a provider looks keys up in."""
    verifiers = provider.verifiers if isinstance(provider, CredentialAuthenticationProvider) else ()
    return [verifier for verifier in verifiers if isinstance(verifier, KeyFile)]


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _nobody_to_ask() -> str:
    raise ValueError("the private key has a password")
