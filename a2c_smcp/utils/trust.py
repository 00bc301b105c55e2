"""The certificate authorities that a client trusts, and the reason why it rejects a certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

# OpenSSL's reasons to reject a certificate (X509_V_ERR_… in `x509_vfy.h`). The texts of its errors differ by version.
EXPIRED, NOT_YET_VALID = 10, 9
SELF_SIGNED = (18, 19)
UNKNOWN_ISSUER = (2, 20, 21)
WRONG_NAME = (62, 64)


def trusting(ca_file: str | Path | None) -> ssl.SSLContext:
    """A context that trusts the authorities in a file (PEM) and no others; without a file, those of the machine.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no certificates.
    """
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        raise ValueError(f"{ca_file}: no certificates in PEM form") from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(ca_file)) from None  # ssl does not name the file


def why_untrusted(error: ssl.SSLCertVerificationError, ca_file: str | Path | None) -> str:
    """Why a certificate was rejected, and what to do, for a person."""
    code = error.verify_code
    if code == EXPIRED:
        return "its certificate has expired: have it renewed (or is the clock of this machine wrong?)"
    if code == NOT_YET_VALID:
        return "its certificate is not valid yet: is the clock of this machine wrong?"
    if code in WRONG_NAME:
        return "its certificate is for another name: use one that it has (`a2c doctor --url …` lists them)"
    if ca_file is not None:
        return (
            f"its certificate was not issued by an authority in {ca_file}: "
            "ask the Server's operator for the certificate of the authority (`a2c doctor --url …` names it)"
        )
    return (
        "its certificate was issued by an authority that this machine does not trust: "
        "give the certificate of a private authority with --ca-file or A2C_CA_FILE (in Python: ca_file=…)"
    )
