"""Certificates of a private authority: valid ones, and ones with the mistakes that occur in practice."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path

    @property
    def flags(self) -> list[str]:
        """The flags of `a2c server` for them."""
        return ["--ssl-certfile", str(self.certificate), "--ssl-keyfile", str(self.key)]


class Authority:
    """Signs certificates; `file` is what a machine has that trusts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Test authority")
        built = _builder(self._name, self._name, self._key, self._key.public_key(), -DAY, 10 * 365 * DAY)
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        built = built.add_extension(_SIGNS_CERTIFICATES, critical=True)
        self.file = _write(folder / "ca.pem", built.sign(self._key, hashes.SHA256()))

    def issue(self, *names: str, begins: timedelta = -DAY, ends: timedelta = 90 * DAY) -> Pair:
        """A certificate for names and addresses; the times are from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_name(names[0]), self._name, key, self._key.public_key(), begins, ends)
        built = built.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        return _pair(self._folder / names[0], built.sign(self._key, hashes.SHA256()), key)


def self_signed(folder: Path, name: str) -> Pair:
    """A certificate that only vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    built = _builder(_name(name), _name(name), key, key.public_key(), -DAY, 90 * DAY)
    built = built.add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
    return _pair(folder / name, built.sign(key, hashes.SHA256()), key)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePublicKey,
    begins: timedelta,
    ends: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    # Python 3.13 and later accept no chain without key identifiers.
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _pair(stem: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    key_file = stem.with_name(stem.name + ".key")
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return Pair(_write(stem.with_name(stem.name + ".pem"), certificate), key_file)


def _write(file: Path, certificate: x509.Certificate) -> Path:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return file
