"""Files with passwords, encrypted as Office and PDF writers do."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from msoffcrypto.format.ooxml import OOXMLFile

from tests.support.documents.old_workbooks import compound
from tests.support.documents.pdf_files import PdfFile, line

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_ID = bytes.fromhex("00112233445566778899aabbccddeeff")
_PERMISSIONS = -4


def locked(path: Path, password: str) -> Path:
    """Encrypt an Office document as current versions of Office do (agile)."""
    encrypted = io.BytesIO()
    with path.open("rb") as file:
        OOXMLFile(file).encrypt(password, encrypted)
    path.write_bytes(encrypted.getvalue())
    return path


def locked_as_2007(path: Path, password: str) -> Path:
    """Encrypt an Office document as Office 2007 did (standard)."""
    salt, verifier, raw = os.urandom(16), os.urandom(16), path.read_bytes()
    cipher = Cipher(algorithms.AES(_key_of_2007(password, salt)), modes.ECB())

    def encrypted(words: bytes) -> bytes:
        encryptor = cipher.encryptor()
        return encryptor.update(words + bytes(-len(words) % 16)) + encryptor.finalize()

    name = "Microsoft Enhanced RSA and AES Cryptographic Provider\0".encode("utf-16-le")
    header = struct.pack("<8I", 0x24, 0, 0x660E, 0x8004, 128, 0x18, 0, 0) + name
    checked = struct.pack("<I", 16) + salt + encrypted(verifier)
    checked += struct.pack("<I", 20) + encrypted(hashlib.sha1(verifier).digest())
    package = struct.pack("<Q", len(raw)) + encrypted(raw)
    about = struct.pack("<HHII", 4, 2, 0x24, len(header)) + header + checked
    path.write_bytes(compound({"EncryptionInfo": about, "EncryptedPackage": package}))
    return path


def _key_of_2007(password: str, salt: bytes) -> bytes:
    digest = hashlib.sha1(salt + password.encode("utf-16-le")).digest()
    for number in range(50_000):
        digest = hashlib.sha1(struct.pack("<I", number) + digest).digest()
    digest = hashlib.sha1(digest + bytes(4)).digest()
    return hashlib.sha1(bytes(a ^ 0x36 for a in digest) + b"\x36" * 44).digest()[:16]


def write_locked_pdf(path: Path, words: str, password: str) -> Path:
    """A PDF of one page, encrypted with RC4."""
    padded = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    key = hashlib.md5(padded + owner + struct.pack("<i", _PERMISSIONS) + _ID).digest()[:5]
    file = PdfFile()
    number = len(file.objects) + 1
    content = _rc4(
        hashlib.md5(key + struct.pack("<I", number)[:3] + bytes(2)).digest()[:10], line(72, 700, words).encode()
    )
    file.page(content.decode("latin-1"))
    user = _rc4(key, _PADDING)
    lock = file.add(f"<< /Filter /Standard /V 1 /R 2 /P {_PERMISSIONS} /O <{owner.hex()}> /U <{user.hex()}> >>")
    file.trailer = f"/Encrypt {lock} 0 R /ID [<{_ID.hex()}> <{_ID.hex()}>]"
    return file.write(path)


def _rc4(key: bytes, words: bytes) -> bytes:
    box = list(range(256))
    j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    out, i, j = bytearray(), 0, 0
    for byte in words:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)
