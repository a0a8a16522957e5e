"""Computes the cases of test/vectors/format.txt with the functions of verify-log.py. Prints the wrong ones, and the number of cases."""

import importlib, json, re, sys

log = importlib.import_module('verify-log')
VAULT = {'vault_id': '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', 'format': 1, 'generation': 1, 'carried': None}
MASTER = bytes.fromhex('ffd803063dc1bdfc0f47e7fd4c663260b7690c13411e455a33b46a29c6bcdb5d')
KEYS = log.carried_keys(VAULT, MASTER)
hex_of = bytes.fromhex

def value_of(value):
    if isinstance(value, list): return list(map(value_of, value))
    return hex_of(value['hex']) if isinstance(value, dict) else value

def padded(text):
    return log.unpad(hex_of(re.sub(r' 00 × (\d+)', lambda found: '00' * int(found[1]), text)))

CASES = {
    'fields': lambda values: log.fields(*map(value_of, json.loads(values))).hex(),
    'sub-keys': lambda _, name: log.derive(MASTER, name).hex(),
    'slot': lambda number, key, slot: log.open_slot(VAULT, int(number), hex_of(slot), hex_of(key)).hex(),
    'header': lambda at, slots: log.header_mac({**VAULT, 'created_at': int(at)}, list(enumerate(map(hex_of, slots.split(' ')))), MASTER).hex(),
    'carried': lambda generation, master, carried: ' '.join(key.hex() for key in log.carried_keys(
        {**VAULT, 'generation': int(generation), 'carried': hex_of(carried)}, hex_of(master)).values()),
    'record': lambda table, tenant, name, revision: '%032x' % log.hash_of(KEYS, table, tenant.replace('(none)', ''), name, revision),
    'link': lambda before, rows: log.link_of(hex_of(before), [(n, at, hex_of(sealed), b'') for n, at, sealed in json.loads(rows)]).hex(),
    'row': lambda at, sealed: log.open_row(KEYS, VAULT['vault_id'], int(at), hex_of(sealed)),
    'base': lambda n, at, link, sealed: log.open_base(KEYS, VAULT['vault_id'], int(n), int(at), hex_of(sealed), hex_of(link)),
    'mac': lambda text: log.blake(32, KEYS['anchor'], log.fields(json.loads(text))).hex(),
}

def events(_at, text, wanted):
    read = [[code, status, revision, tenant, names] for code, status, revision, tenant, names in log.events_of(json.loads(text))]
    found = [event['event'] for event in json.loads(wanted)]
    said = [[event['status'], str(event.get('revision', '')), event.get('tenant_id', ''), event['entities']] for event in found]
    names = lambda entities, event: [log.unpack(name.split(' ', 1)[1] if 'ended' in event else name) for name in entities]
    return said == [[status, revision, tenant, names(entities, event)] for (_, status, revision, tenant, entities), event in zip(read, found)]

part, count = '', 0
for line in open(sys.argv[1], encoding='utf-8').read().split('\n'):
    if line.startswith('# '): part = line[2:]
    if line.startswith('#') or not line: continue
    *given, wanted = line.split(' → ')
    if part == 'events': is_right = events(*given, wanted)
    elif part == 'padding': is_right = padded(wanted) == json.loads(given[0])
    else: is_right = CASES[part](*given) == (json.loads(wanted) if part in ('row', 'base') else wanted)
    count += 1
    if not is_right: print(f'{part}: {line}')
print(count)
