"""A writer and a reader for the little of GGUF v3 that this model needs: F32 and Q8_0 tensors, little-endian."""

import struct

import numpy as np

ALIGN = 32
U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
KIND_F32, KIND_Q8_0 = 0, 8
PACK = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}


def _string(s):
    raw = s.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _value(kind, value):
    if kind == STRING:
        return _string(value)
    if isinstance(kind, tuple):  # (ARRAY, item kind)
        return struct.pack("<IQ", kind[1], len(value)) + b"".join(_value(kind[1], v) for v in value)
    return struct.pack(PACK[kind], value)


def quantise_q8_0(x):
    """(rows, cols) float32 -> blocks of 32: a half-precision scale amax/127, then 32 signed bytes."""
    x = np.ascontiguousarray(x, np.float32).reshape(-1, 32)
    scale = np.abs(x).max(axis=1) / np.float32(127)
    inverse = np.where(scale > 0, np.float32(1) / np.where(scale > 0, scale, 1), 0).astype(np.float32)
    scaled = x * inverse[:, None]
    q = np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))
    out = np.empty((len(x), 34), np.uint8)
    out[:, :2] = scale.astype("<f2").view(np.uint8).reshape(-1, 2)
    out[:, 2:] = np.clip(q, -127, 127).astype(np.int8).view(np.uint8)
    return out.tobytes()


def dequantise_q8_0(raw, count):
    rows = np.frombuffer(raw, np.uint8).reshape(-1, 34)
    scale = np.ascontiguousarray(rows[:, :2]).view("<f2").astype(np.float32)
    return (np.ascontiguousarray(rows[:, 2:]).view(np.int8).astype(np.float32) * scale).reshape(-1)[:count]


def write(path, meta, tensors):
    """meta: [(key, kind, value)]; tensors: [(name, float32 array)], matrices become Q8_0 and vectors stay F32."""
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(meta))]
    for key, kind, value in meta:
        tag = kind[0] if isinstance(kind, tuple) else kind
        head.append(_string(key) + struct.pack("<I", tag) + _value(kind, value))
    offset, blobs = 0, []
    for name, array in tensors:
        kind = KIND_Q8_0 if array.ndim == 2 else KIND_F32
        blob = quantise_q8_0(array) if array.ndim == 2 else np.ascontiguousarray(array, "<f4").tobytes()
        dims = array.shape[::-1]  # GGUF names the contiguous dimension first
        head.append(_string(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, offset))
        blob += b"\0" * (-len(blob) % ALIGN)
        blobs.append(blob)
        offset += len(blob)
    raw = b"".join(head)
    raw += b"\0" * (-len(raw) % ALIGN)
    with open(path, "wb") as f:
        f.write(raw + b"".join(blobs))


def read(path):
    """-> (meta dict, {name: float32 array, Q8_0 dequantised})"""
    with open(path, "rb") as f:
        data = f.read()
    at = 0

    def take(fmt):
        nonlocal at
        out = struct.unpack_from(fmt, data, at)
        at += struct.calcsize(fmt)
        return out if len(out) > 1 else out[0]

    def string():
        nonlocal at
        n = take("<Q")
        at += n
        return data[at - n:at].decode("utf-8")

    def value(kind):
        if kind == STRING:
            return string()
        if kind == ARRAY:
            item, n = take("<IQ")
            return [value(item) for _ in range(n)]
        return take(PACK[kind])

    assert data[:4] == b"GGUF", path
    at = 4
    version, tensor_count, meta_count = take("<IQQ")
    assert version == 3, version
    meta = {}
    for _ in range(meta_count):
        key = string()
        meta[key] = value(take("<I"))
    infos = []
    for _ in range(tensor_count):
        name = string()
        dims = [take("<Q") for _ in range(take("<I"))]
        kind, offset = take("<IQ")
        infos.append((name, dims, kind, offset))
    at += -at % ALIGN
    tensors = {}
    for name, dims, kind, offset in infos:
        count = int(np.prod(dims))
        start = at + offset
        if kind == KIND_Q8_0:
            flat = dequantise_q8_0(data[start:start + count // 32 * 34], count)
        else:
            assert kind == KIND_F32, kind
            flat = np.frombuffer(data, "<f4", count, start).copy()
        tensors[name] = flat.reshape(dims[::-1])
    return meta, tensors
