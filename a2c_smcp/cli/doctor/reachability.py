"""The steps to reach an address: DNS, TCP connection, TLS. Each step runs alone, so that the report names the step that
fails."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import getproxies

from cryptography import x509

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Address
from a2c_smcp.utils.trust import EXPIRED, NOT_YET_VALID, SELF_SIGNED, UNKNOWN_ISSUER, WRONG_NAME, trusting

PATIENCE = 10.0
"""Seconds for each step."""
SOON = timedelta(days=14)
"""A certificate that expires within this time is a warning. Automatic renewal runs weeks earlier."""


@dataclass(frozen=True)
class Trust:
    """The certificate authorities to trust, and how to add another one."""

    ca_file: Path | None = None
    how: str = "SSL_CERT_FILE=ca.pem in the environment"

    @property
    def advice(self) -> str:
        """The advice for an authority that is not trusted."""
        return f"use a certificate of a public authority, or trust yours with {self.how}"


async def dial(place: Address, report: Report, who: str, how_to_start: str = "", trust: Trust | None = None) -> bool:
    """Resolve and connect to an address and, with TLS, verify its certificate; whether all of that works."""
    addresses = await _resolve(place, report, who)
    address = await _connect(place, addresses, report, who, how_to_start)
    if address is None:
        return False
    if not place.is_tls:
        return True
    return await _trust(place, address, report, who, trust or Trust())


# ----------------------------------------------------------------------------------------------------------------- name


async def _resolve(place: Address, report: Report, who: str) -> list[str]:
    try:
        async with asyncio.timeout(PATIENCE):
            found = await asyncio.get_running_loop().getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        report.fail(
            f"{who}: no address for {place.host}: {error.strerror or error}",
            "check the spelling of the name, the network of this machine, and its DNS server (/etc/resolv.conf)",
        )
        return []
    except TimeoutError:
        report.fail(
            f"{who}: the DNS lookup of {place.host} timed out",
            "check the network of this machine and its DNS server (/etc/resolv.conf)",
        )
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


# ----------------------------------------------------------------------------------------------------------- connection


async def _connect(place: Address, addresses: list[str], report: Report, who: str, how_to_start: str) -> str | None:
    """The first address that answers."""
    # One after the other, unlike clients, which may race IPv6 and IPv4: a dead address that such a race hides still
    # delays clients that try in order.
    failures: list[OSError] = []
    for address in addresses:
        try:
            async with asyncio.timeout(PATIENCE):
                _, writer = await asyncio.open_connection(address, place.port)
        except OSError as error:  # TimeoutError is a subclass
            failures.append(error)
            continue
        await _hang_up(writer)
        if failures:
            report.warn(
                f"{who}: {address} answers, but {', '.join(addresses[: len(failures)])} does not",
                f"it may delay every connection: remove it from the DNS entry of {place.host}, or make it reachable",
            )
        return address
    if failures:
        report.fail(*_why_not_connected(place, failures[-1], who, how_to_start))
    return None


def _why_not_connected(place: Address, error: OSError, who: str, how_to_start: str) -> tuple[str, str]:
    where = f"{who}: port {place.port} of {place.host}"
    hint = ""
    # The Socket.IO clients connect directly. A user whose browser reaches the Server through a proxy cannot know that.
    if getproxies().get("https" if place.is_tls else "http"):
        hint = "; the proxy of your environment (HTTPS_PROXY …) is not used for this connection"
    if isinstance(error, ConnectionRefusedError):
        start = f" (`{how_to_start}`)" if how_to_start else ""
        return f"{where}: connection refused: nothing is listening", f"start it{start}, or correct the port{hint}"
    if isinstance(error, TimeoutError):
        return f"{where}: connection timed out", f"a firewall probably blocks it: open the port there{hint}"
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return f"{where}: no route to this address", f"check the network or VPN of this machine{hint}"
    return f"{where}: {error.strerror or error}", f"check the address{hint}"


# ------------------------------------------------------------------------------------------------------------------ TLS


async def _trust(place: Address, address: str, report: Report, who: str, trust: Trust) -> bool:
    """Verify the certificate, and warn if it expires soon."""
    try:
        certificate = await _shake_hands(place, address, trusting(trust.ca_file))
    except ssl.SSLCertVerificationError as error:
        report.fail(*_why_not_trusted(place, error, await _presented(place, address), who, trust))
        return False
    except (OSError, EOFError) as error:
        report.fail(
            f"{who}: port {place.port} of {place.host} answers, but not with TLS: {_in_words(error)}",
            "use http:// instead of https://, or another port",
        )
        return False
    left = certificate.ends - datetime.now(UTC)
    if left < SOON:
        report.warn(
            f"{who}: the certificate expires on {certificate.ends:%Y-%m-%d}, in {max(left.days, 0)} days",
            "renew it now, and check why it was not renewed automatically",
        )
    else:
        report.ok(f"{who}: the certificate is valid until {certificate.ends:%Y-%m-%d}")
    return True


def _why_not_trusted(
    place: Address, error: ssl.SSLCertVerificationError, certificate: _Certificate | None, who: str, trust: Trust
) -> tuple[str, str]:
    code = error.verify_code
    issuer = f" ({certificate.issuer})" if certificate else ""
    if code == EXPIRED:
        when = f" on {certificate.ends:%Y-%m-%d %H:%M} UTC" if certificate else ""
        return f"{who}: the certificate expired{when}", "renew it on the Server, or check the clock of this machine"
    if code == NOT_YET_VALID:
        when = f" before {certificate.begins:%Y-%m-%d %H:%M} UTC" if certificate else ""
        return f"{who}: the certificate is not valid{when}", "check the clock of this machine"
    if code in WRONG_NAME:
        names = f": it is for {', '.join(certificate.names) or 'no name'}" if certificate else ""
        return (
            f"{who}: the certificate is not for {place.host}{names}",
            "connect with a name in the certificate, or get a certificate for this name",
        )
    if code in (*SELF_SIGNED, *UNKNOWN_ISSUER) and trust.ca_file is not None:
        return (
            f"{who}: {trust.ca_file} does not contain the authority that issued the certificate{issuer}",
            "ask the operator of the Server for the certificate of that authority",
        )
    if code in SELF_SIGNED:
        return f"{who}: the certificate is self-signed, or from a self-signed authority", trust.advice
    if code in UNKNOWN_ISSUER:
        return (
            f"{who}: this machine does not trust the issuer of the certificate{issuer}",
            f"configure the Server to send the whole chain (fullchain.pem), or {trust.advice}",
        )
    return f"{who}: the certificate is rejected: {error.verify_message}", trust.advice


@dataclass(frozen=True)
class _Certificate:
    begins: datetime
    ends: datetime
    issuer: str
    names: tuple[str, ...]

    @classmethod
    def read(cls, der: bytes) -> _Certificate:
        loaded = x509.load_der_x509_certificate(der)
        names: tuple[str, ...] = ()
        with contextlib.suppress(x509.ExtensionNotFound, ValueError):
            found = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            names = (
                *found.get_values_for_type(x509.DNSName),
                *map(str, found.get_values_for_type(x509.IPAddress)),
            )
        issuer = loaded.issuer.rfc4514_string()
        return cls(loaded.not_valid_before_utc, loaded.not_valid_after_utc, issuer, names)


async def _presented(place: Address, address: str) -> _Certificate | None:
    """The certificate that was not trusted, to show its dates and names."""
    # A handshake that fails gives no access to the certificate, so this one verifies nothing. It sends no data.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return await _shake_hands(place, address, context)
    except (OSError, EOFError, ValueError):
        return None


async def _shake_hands(place: Address, address: str, context: ssl.SSLContext) -> _Certificate:
    async with asyncio.timeout(PATIENCE):
        _, writer = await asyncio.open_connection(address, place.port, ssl=context, server_hostname=place.host)
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return _Certificate.read(der)
    finally:
        await _hang_up(writer)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection without a TLS shutdown."""
    # A graceful close of TLS waits for the other side, and would still be under way when the program ends. After
    # `abort`, the transport closes in the next iteration of the loop, and the wait makes sure that there is one.
    writer.transport.abort()
    with contextlib.suppress(OSError):  # TimeoutError is a subclass
        async with asyncio.timeout(PATIENCE):
            await writer.wait_closed()


def _in_words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error) or type(error).__name__
