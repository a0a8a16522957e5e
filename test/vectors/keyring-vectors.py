"""Generates the keyring's vectors (envelope, fingerprint, blind-index, slot, api-key) from the layouts in src/keyring.
Shares no code with it: uses hashlib, the package `cryptography` for ChaCha20-Poly1305 and Argon2id, and its own
HChaCha20. Run it in this folder after a change of format; it writes the JSON files."""

import hashlib, json, struct, zlib
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
FORMAT, GENERATION, SUITE = 1, 1, 1
VAULT = '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11'
TENANT = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed'


def hchacha20(key, nonce):
    x = list(struct.unpack('<16I', b'expand 32-byte k' + key + nonce))
    rotate = lambda v, n: ((v << n) | (v >> (32 - n))) & 0xFFFFFFFF

    def quarter(a, b, c, d):
        for left, right, into, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[left] = (x[left] + x[right]) & 0xFFFFFFFF
            x[into] = rotate(x[into] ^ x[left], by)

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for a in range(4):
            quarter(a, 4 + (a + 1) % 4, 8 + (a + 2) % 4, 12 + (a + 3) % 4)
    return struct.pack('<8I', *x[:4], *x[12:])


def xchacha(key, nonce, aad, plaintext):
    return ChaCha20Poly1305(hchacha20(key, nonce[:16])).encrypt(bytes(4) + nonce[16:], plaintext, aad)


# Check HChaCha20 against draft-irtf-cfrg-xchacha-03, section 2.2.1, before its first use.
assert hchacha20(bytes(range(32)), bytes.fromhex('000000090000004a0000000031415927')).hex() == (
    '82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc')


def field(value):
    if value is None:
        return b'\x00'
    if isinstance(value, list):
        return b'\x05' + struct.pack('>I', len(value)) + b''.join(map(field, value))
    if isinstance(value, (int, float)):
        return b'\x03' + struct.pack('>d', value)
    if isinstance(value, bytes):
        return b'\x04' + struct.pack('>I', len(value)) + value
    if value.isascii():
        return b'\x01' + struct.pack('>I', len(value)) + value.encode('ascii')
    text = value.encode('utf-16-le', 'surrogatepass')
    return b'\x02' + struct.pack('>I', len(text)) + text


def fields(*values):
    return b''.join(map(field, values))


def subkey(key, number, context):
    """crypto_kdf_derive_from_key"""
    return hashlib.blake2b(key=key, salt=struct.pack('<QQ', number, 0), person=context + bytes(8), digest_size=32).digest()


def padded_length(length):
    if length <= 1024:
        return -(-length // 64) * 64
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


def pad(text):
    try:
        content = text.encode('utf-8') + b'\x80'
    except UnicodeEncodeError:
        content = text.encode('utf-16-le', 'surrogatepass') + b'\x81'
    return content.ljust(padded_length(len(content)), b'\x00')


def base58(data):
    number, text = int.from_bytes(data, 'big'), ''
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return '1' * (len(data) - len(data.lstrip(b'\x00'))) + text


def envelope(key, key_id, nonce, aad, plaintext):
    return bytes([SUITE]) + struct.pack('>I', key_id) + nonce + xchacha(key, nonce, aad, plaintext)


def fixed(label, size):
    return hashlib.shake_256(label.encode()).digest(size)


def layout(value, indent='', room=108):
    """Prints a value on one line if it fits, like `biome check --write`."""
    line = json.dumps(value)
    if len(indent + line) <= room or not isinstance(value, (dict, list)):
        return line
    inner, names = indent + '  ', isinstance(value, dict)
    parts = [(json.dumps(each) + ': ' + layout(value[each], inner)) if names else layout(each, inner) for each in value]
    return '[{'[names] + ','.join('\n' + inner + part for part in parts) + '\n' + indent + ']}'[names]


def write(name, value):
    with open(name, 'w', newline='\n') as file:
        file.write(layout(value) + '\n')


INDEX_KEY = fixed('index key', 32)
CARD = '{"number":"4242424242424242","expiration_month":12,"expiration_year":2030}'


def make_envelopes():
    keys = {1: fixed('data key 1', 32), 3: fixed('data key 3', 32)}
    cases = []
    for number, (key_id, context, plaintext) in enumerate([
        (1, ('token', '0190c2a5-6a2e-7b0e-8f5e-0c1f1b7d2a11', 'data', 1, ['card', 1700000000000, None]), CARD),
        (3, ('token', 'order 42', 'masked', 7, ['token', 1700000000000.5, -0.0]), '"XXXX"'),
        (3, ('tenant', TENANT, 'details', 2, []), ''),
        (1, ('application', 'caf\u00e9 \U0001f510 \ud800', 'details', 2, ['\u00ff', '', 'a']), '"\u20ac \U0001f510"'),
        (1, ('token', 'lone surrogate', 'data', 1, [None]), '"\ud800 and \udc00"'),
        (3, ('token', 'padme', 'data', 1, ['token']), '"' + 'x' * 5000 + '"'),
    ]):
        table, id_, column, revision, clear = context
        aad = fields('token-vault value', SUITE, FORMAT, VAULT, TENANT, key_id, table, id_, column, revision, clear)
        sealed = envelope(keys[key_id], key_id, fixed(f'nonce {number}', 24), aad, pad(plaintext))
        cases.append({
            'context': {'table': table, 'id': id_, 'column': column, 'revision': revision, 'clear': clear},
            'plaintext': plaintext, 'sealed': sealed.hex(),
        })
    write('envelope.json', {
        'vault_id': VAULT, 'format': FORMAT, 'generation': GENERATION, 'tenant_id': TENANT,
        'keys': {str(key_id): key.hex() for key_id, key in keys.items()}, 'cases': cases,
    })


def make_fingerprints():
    key = subkey(INDEX_KEY, 6, b'vaultidx')
    cases = []
    for type_, source, text in [
        ('token', 'expression', ''), ('token', 'data', 'a'), ('token', 'expression', 'a'), ('card', 'data', CARD),
        ('car', 'data', 'd' + CARD), ('token', 'data', 'caf\u00e9'), ('token', 'expression', '\ud800'),
    ]:
        hashed = hashlib.blake2b(fields(type_, source, text), key=key, digest_size=32).digest()
        cases.append({'type': type_, 'source': source, 'text': text, 'fingerprint': base58(hashed)})
    write('fingerprint.json', {'index_key': INDEX_KEY.hex(), 'cases': cases})


def make_blind_indexes():
    cases = []
    for number, purpose in enumerate(['fingerprint', 'metadata', 'search', 'container_prefix', 'container'], 1):
        key = subkey(INDEX_KEY, number, b'vaultidx')
        for value in ['', 'customer=42', 'caf\u00e9']:
            index = hashlib.blake2b(fields(value), key=key, digest_size=16).digest()
            cases.append({'purpose': purpose, 'value': value, 'index': index.hex()})
    write('blind-index.json', {'index_key': INDEX_KEY.hex(), 'cases': cases})


def make_slots():
    master, key_file = fixed('master key', 32), fixed('key file', 32)
    passphrase = 'correct horse battery st\u00e5ple'
    created_at = 1700000000000

    def slot(number, kind, passes, memory, derive, label=''):
        salt = fixed(f'salt {number}', 16)
        derived = derive(salt)
        clear = bytes([1, kind]) + struct.pack('>IIQ', passes, memory, created_at) + salt + derived[:32]
        aad = fields('token-vault slot', FORMAT, VAULT, GENERATION, number, clear)
        body = clear + envelope(derived[32:], GENERATION, fixed(f'slot nonce {number}', 24), aad, master)
        body += label.encode()
        return body + struct.pack('>I', zlib.crc32(body))

    slots = [
        (0, slot(0, 1, 0, 0, lambda salt: hashlib.blake2b(fields('token-vault key file', salt), key=key_file).digest())),
        (5, slot(5, 2, 3, 65536, lambda salt: Argon2id(
            salt=salt, length=64, iterations=3, lanes=1, memory_cost=65536).derive(passphrase.encode()), 'Zo\u00eb\'s \u7b14\u8bb0\u672c')),
    ]
    listed = [value for pair in slots for value in pair]
    header = fields('token-vault header', FORMAT, VAULT, created_at, GENERATION, listed)
    mac = hashlib.blake2b(header, key=subkey(master, 1, b'vaultmst'), digest_size=32).digest()
    api_key = 'key_11111111111111111111111111'
    write('slot.json', {
        'key_file': key_file.hex(), 'passphrase': passphrase, 'passphrase_decomposed': 'correct horse battery sta\u030aple',
        'header': {
            'vault_id': VAULT, 'format': FORMAT, 'created_at': created_at, 'generation': GENERATION,
            'slots': [{'slot': number, 'bytes': data.hex()} for number, data in slots], 'mac': mac.hex(),
        },
        'master_key': master.hex(),
        'api_key': api_key,
        'api_key_hash': hashlib.blake2b(fields(api_key), key=subkey(master, 2, b'vaultmst'), digest_size=32).hexdigest(),
    })


def make_api_keys():
    def checksum(secret):
        number, text = zlib.crc32(secret.encode()), ''
        for _ in range(6):
            number, digit = divmod(number, 58)
            text = ALPHABET[digit] + text
        return text

    cases = []
    for number in range(4):
        source = bytes(26) if number == 0 else fixed(f'api key {number}', 64)
        secret = ''.join(ALPHABET[byte % 58] for byte in source if byte < 232)[:26]
        cases.append({'random': source.hex(), 'key': 'key_' + secret + checksum(secret)})
    good = cases[1]['key']
    swapped = good[:10] + good[11] + good[10] + good[12:]
    assert swapped != good
    malformed = ['', 'key_', good[:-1], good + '1', good[4:], good.upper(), swapped, 'key_' + '0' * 32, good + '\n', ' ' + good]
    write('api-key.json', {'cases': cases, 'malformed': malformed})


make_envelopes()
make_fingerprints()
make_blind_indexes()
make_slots()
make_api_keys()
