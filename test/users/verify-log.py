"""Checks the log of a vault file and its archives. Written from docs/format.md alone, with libsodium for XChaCha20-Poly1305.

    python3 verify-log.py VAULT KEY_FILE [ARCHIVE ...]

Prints the number of rows and of entries and the link of the last row, or what is wrong (exit code 9). Archives must reach from row 0 to the base."""

import base64, ctypes, ctypes.util, hashlib, json, re, sqlite3, struct, sys, uuid, zlib

SODIUM = ctypes.CDLL(ctypes.util.find_library('sodium') or 'libsodium.so.23')
SUB_KEYS = 'header_mac api_key_hash record_digest tenant_key_wrapping anchor carried_wrapping audit_sealing tombstone audit_index'.split()
CARRIED = 'api_key_hash record_digest audit_sealing tombstone anchor audit_index'.split()
CHANGES = {'vc sa sr km': 'header', 'nu': 'tenant', 'nd': '-tenant', 'ka': 'tenant_key', 'kr': '-tenant_key', 'tc tu tb': 'token',
           'te td': '-token', 'yc yi': 'application_key', 'yd ye yo': '-application_key', 'nc ni ac au ar': 'application', 'ae ao ad': '-application', 'nv': 'accept', 'nz': 'reset'}
CHANGE_OF = {code: change for codes, change in CHANGES.items() for code in codes.split()}
OF_TOKENS = ('token', 'tombstone')
RECORDS = {'tenant': ('id', 'x.revision'), 'tenant_key': ('key_id', '1'), 'application': ('id', 'x.revision'), 'application_key': ('id', 'x.revision'), 'token': ('id', 'x.revision'), 'tombstone': ('id', '1')}

class Broken(Exception): pass

def check(is_right, what):
    if not is_right: raise Broken(what)

def blake(size, key, message, **more): return hashlib.blake2b(message, digest_size=size, key=key, **more).digest()
def unurl(text): return base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))
def id_of(value): return str(uuid.UUID(bytes=value)) if isinstance(value, bytes) else value
def number(text): return int.from_bytes(unurl(text), 'big')

def field(value):
    if value is None: return b'\x00'
    if isinstance(value, list): return b'\x05' + struct.pack('>I', len(value)) + fields(*value)
    if isinstance(value, int): return b'\x03' + struct.pack('>d', value)
    if isinstance(value, bytes): return b'\x04' + struct.pack('>I', len(value)) + value
    tag, data = (b'\x01', value.encode()) if value.isascii() else (b'\x02', value.encode('utf-16-le', 'surrogatepass'))
    return tag + struct.pack('>I', len(data)) + data

def fields(*values): return b''.join(map(field, values))

def unseal(key, key_id, context, sealed):
    check(len(sealed) >= 45 and sealed[:5] == b'\x01' + struct.pack('>I', key_id), 'is no envelope under this key')
    content = ctypes.create_string_buffer(len(sealed))
    size = ctypes.c_ulonglong
    failed = SODIUM.crypto_aead_xchacha20poly1305_ietf_decrypt(content, None, None, sealed[29:], size(len(sealed) - 29), context,
                                                               size(len(context)), sealed[5:29], key)
    check(not failed, 'cannot be decrypted')
    return content.raw[:len(sealed) - 45]

def unpad(content):
    content = content.rstrip(b'\x00')
    return content[:-1].decode() if content[-1] == 0x80 else content[:-1].decode('utf-16-le', 'surrogatepass')

def derive(master, name):
    salt = struct.pack('<QQ', SUB_KEYS.index(name) + 1, 0)
    return blake(32, master, b'', salt=salt, person=b'vaultmst' + bytes(8))

def open_slot(vault, slot, data, key):
    check(struct.unpack('>I', data[-4:])[0] == zlib.crc32(data[:-4]) and data[:2] == b'\x01\x01', f'slot {slot} is no slot of a key file')
    derived = blake(64, key, fields('token-vault key file', data[18:34]))
    if derived[:32] != data[34:66]: return None
    context = fields('token-vault slot', 1, vault['vault_id'], vault['generation'], slot, data[:66])
    return unseal(derived[32:], vault['generation'], context, data[66:143])

def header_mac(vault, slots, master):
    values = [part for slot, data in sorted(slots) for part in (slot, data)]
    more = [] if vault['carried'] is None else [vault['carried']]
    message = fields('token-vault header', 1, vault['vault_id'], vault['created_at'], vault['generation'], values, *more)
    return blake(32, derive(master, 'header_mac'), message)

def carried_keys(vault, master):
    if vault['carried'] is None: return {name: derive(master, name) for name in CARRIED}
    context = fields('token-vault carried keys', 1, vault['vault_id'], vault['generation'])
    found = unseal(derive(master, 'carried_wrapping'), vault['generation'], context, vault['carried'])
    return {name: found[32 * n:32 * n + 32] for n, name in enumerate(CARRIED)}

def open_row(keys, vault_id, at, sealed): return unpad(unseal(keys['audit_sealing'], 1, fields('token-vault audit event', 1, vault_id, 1, at), sealed))

def open_base(keys, vault_id, sequence, at, sealed, link):
    return unpad(unseal(keys['audit_sealing'], 2, fields('token-vault audit base', 1, vault_id, 2, sequence, at, link), sealed))

def link_of(before, rows):
    parts = (struct.pack('>QQI', sequence, at, len(sealed)) + sealed for sequence, at, sealed, _ in rows)
    return hashlib.sha256(before + b''.join(parts)).digest()[:16]

def hash_of(keys, *record): return int.from_bytes(blake(16, keys['record_digest'], fields('token-vault record', '\n'.join(map(str, record)))), 'big')

def unpack(line):
    if not line.startswith('~'): return line
    return line[1:] if line[1:2] in ('~', '+', '=') else str(uuid.UUID(bytes=unurl(line[1:])))

def events_of(text):
    before = [''] * 5
    for part in re.split(r'\n\+-?\d+\n', text):
        code, result, revision, *lines = part.split('\n')
        before = [old if line == '=' else unpack(line) for line, old in zip(lines, before)]
        records = [line.split(' ') for line in lines[5:]] if '#' in result else []
        place = 1 if CHANGE_OF.get(code, '')[:1] == '-' else 0
        entities = [' '.join(parts[:place + 1]) for parts in records] if records else lines[5:]
        yield code, int(re.split('[ !#]', result)[0]), revision, before[3], entities

class Log:
    def __init__(self, keys, vault_id):
        self.keys, self.vault_id, self.header, self.tenants = keys, vault_id, '', {}
        self.last, self.link, self.authority, self.commit, self.seen = 0, bytes(16), 0, [], set()
        self.first, self.places, self.rows, self.entries = 0, {0: (bytes(16), 0)}, 0, 0

    def add(self, tenant, table, name, revision, sign=1):
        if revision == 0: return
        sums = self.tenants.setdefault(tenant, [0, 0])
        sums[table in OF_TOKENS] = (sums[table in OF_TOKENS] + sign * hash_of(self.keys, table, tenant, name, revision)) % 2**128

    def digest(self):
        own = hash_of(self.keys, 'header', '', self.header, 1) if self.header else 0
        return (own + sum(sums[0] for sums in self.tenants.values())) % 2**128

    def apply(self, code, status, revision, tenant, entities):
        """Applies an event, and returns whether it is one of authority."""
        change = CHANGE_OF.get(code)
        if change is None or status >= 400 or (not revision and change in ('header', 'tenant', 'tenant_key', 'token', 'application', 'application_key')): return False
        table, is_removal, r = change.strip('-'), change[0] == '-', int(revision or 0)
        if change == 'header':
            check(entities[1:] in ([], [self.header]), 'follows another header')
            self.header = entities[0]
        elif change == '-tenant': self.tenants.pop(tenant, None)
        elif change == 'reset':
            check(number(entities[0]) == self.tenants[tenant][1], 'removed other tokens')
            self.tenants[tenant][1] = 0
        elif change == 'accept': self.tenants[tenant] = [number(entity) for entity in entities]
        elif table == 'tenant_key': self.add(tenant, table, r, 1, -1 if is_removal else 1)
        for entity in [tenant] if table == 'tenant' and not is_removal else entities if table in ('application', 'application_key', 'token') else []:
            if is_removal: r, entity = int(entity.split(' ', 1)[0]), entity.split(' ', 1)[1]
            name = unpack(entity)
            self.add(tenant, table, name, r if is_removal else r - 1, -1)
            if not is_removal: self.add(tenant, table, name, r)
            elif table == 'token': self.add(tenant, 'tombstone', name, 1)
        if code == 'nc':
            for record in (('tenant', tenant), ('tenant_key', 1), ('tenant_key', 2)): self.add(tenant, *record, 1)
        return table not in ('token', 'reset')

    def row(self, sequence, at, sealed, link):
        check(sequence == self.last + 1, f'row {self.last + 1} is missing')
        check(sealed not in self.seen, f'row {sequence} is a copy')
        self.seen.add(sealed)
        self.last, self.rows = sequence, self.rows + 1
        self.commit.append((sequence, at, sealed, link))
        if not link: return
        check(link_of(self.link, self.commit) == link, f'row {sequence} has another link')
        for one in self.commit: self.open(*one)
        self.link, self.commit, self.places[sequence] = link, [], (link, self.authority)

    def open(self, sequence, at, sealed, _link):
        try:
            first, text = open_row(self.keys, self.vault_id, at, sealed).split('\n', 1)
            witness, link, authority, *digest = first.split(' ')
            known = (unurl(link), int(authority))
            is_early = int(witness) < self.first
            check(int(witness) < sequence and (is_early or self.places.get(int(witness)) == known), 'has another witness')
            events = list(events_of(text))
            self.entries += len(events)
            is_of_authority = [self.apply(*event) for event in events]
            check(all(is_of_authority) if digest else not any(is_of_authority), 'is no row of authority, or has no digest')
            if not digest: return
            check(len(self.commit) == 1 and int(witness) == sequence - 1 and number(digest[0]) == self.digest(), 'has another digest or place')
            self.authority = sequence
        except Broken as broken: raise Broken(f'row {sequence} {broken}')

    def state(self): return self.authority, self.header, self.tenants

    def start(self, sequence, at, sealed, link, digests):
        """Begins at a base. After archives, compares with it."""
        if not sealed: return check((sequence, at, link) == (0, 0, bytes(16)), 'the first row is no base')
        lines = open_base(self.keys, self.vault_id, sequence, at, sealed, link).split('\n')
        authority, header = lines[3].split(' ')
        state = int(authority), header, {name: [number(a), number(b)] for name, a, b in (line.split(' ') for line in lines[4:])}
        check(lines[0] == 'base 1' and (not digests or lines[2] in digests), 'the base names another archive')
        check(not digests or (sequence, link, state) == (self.last, self.link, self.state()), 'the archives do not lead to the base')
        self.last, self.link, (self.authority, self.header, self.tenants) = sequence, link, state
        if not digests: self.first = sequence
        self.places[sequence] = (link, self.authority)

def read_archive(path, keys, vault_id):
    """Returns the rows and the SHA-256 of an archive."""
    text = open(path, 'rb').read()
    first, *lines = text.decode().split('\n')
    header, mac = re.fullmatch(r'(.*),"mac":"([^"]*)"}', first).groups()
    found = json.loads(first)
    check(blake(32, keys['anchor'], fields(header + '}')) == base64.b64decode(mac), f'{path} has another MAC')
    check(found['archive'] == 'token-vault audit archive 1' and found['vault_id'] == vault_id, f'{path} is of another vault')
    rows = [(n, at, base64.b64decode(sealed), base64.b64decode(link)) for n, at, link, sealed in map(json.loads, lines[:-1])]
    (after, _), (through, end) = found['after'], found['through']
    check([row[0] for row in rows] == list(range(after + 1, through + 1)) and rows[-1][3] == base64.b64decode(end), f'{path} has a gap')
    return rows, hashlib.sha256(text).hexdigest()

def verify(path, key_file, *archives):
    database = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    database.row_factory = sqlite3.Row
    vault = dict(database.execute('SELECT * FROM header').fetchone())
    check(vault['format'] == 1, 'this is another format')
    slots = [tuple(row) for row in database.execute('SELECT slot, bytes FROM slot')]
    key = open(key_file, 'rb').read()
    master = next(filter(None, (open_slot(vault, slot, data, key) for slot, data in slots if data[1] == 1)), None)
    check(master is not None, 'the key file opens no slot')
    check(header_mac(vault, slots, master) == vault['mac'], 'the header has another MAC')
    keys = carried_keys(vault, master)
    log = Log(keys, vault['vault_id'])
    base, *rows = map(tuple, database.execute('SELECT sequence, at, sealed, link FROM audit ORDER BY sequence'))
    read = sorted((read_archive(path, keys, vault['vault_id']) for path in archives), key=lambda one: one[0][0][0])
    for archived, _ in read:
        for row in archived:
            if log.last < row[0] <= base[0]: log.row(*row)
    log.start(*base, [digest for _, digest in read])
    for row in rows: log.row(*row)
    check(not log.commit, f'row {log.last} has no link')
    check(base64.urlsafe_b64encode(vault['mac'][:16]).decode().rstrip('=') == log.header, 'the header differs from the log')
    held = Log(keys, vault['vault_id'])
    for table, (name, revision) in RECORDS.items():
        for tenant, found, at in database.execute(f'SELECT t.id, x.{name}, {revision} FROM {table} x JOIN tenant t USING (tenant)'):
            held.add(id_of(tenant), table, id_of(found), at)
    check(held.tenants == log.tenants, 'the records differ from the log')
    return {'ok': True, 'rows': log.rows, 'entries': log.entries, 'head': log.link.hex()}

if __name__ == '__main__':
    try:
        print(json.dumps(verify(*sys.argv[1:])))
    except (Broken, sqlite3.Error, ValueError, LookupError, AttributeError, TypeError, struct.error) as error:
        print(json.dumps({'ok': False, 'what': f'{type(error).__name__}: {error}'}))
        sys.exit(9)
