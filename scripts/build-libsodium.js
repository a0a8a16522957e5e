import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { transform } from 'esbuild';
import { ROOT } from './build-output.js';
import { trimWasm } from './trim-wasm.js';

/** What makes libsodium start sooner. It changes how libsodium is loaded, never what it computes. */

/** WebAssembly as base64, and the loop that decodes it. */
const DECODED = /\(\w+=>\{for\(var .{1,400}?return \w+\}\)\("(AGFz[A-Za-z0-9+/]+=*)"\)/g;

/** The names of the wrappers' functions and, in the same order, the functions. */
const FUNCTIONS = /\be=\[((?:"\w+",?)+)\],a=\[((?:[\w$]+,?)+)\]/g;

/** The names of their some 300 constants. */
const CONSTANTS = /\bn=\[((?:"\w+",?)+)\](?=;for\()/g;

/** The test that libsodium makes of itself when it starts, of a cipher that no vault has. */
const SELF_TEST =
  /=t\.randombytes_buf\(t\.crypto_secretbox_NONCEBYTES\),(\w+)=t\.randombytes_buf\(t\.crypto_secretbox_KEYBYTES\),(\w+)=t\.crypto_secretbox_easy\((\w+),(\w+),\1\),(\w+)=t\.crypto_secretbox_open_easy\(\2,\4,\1\)/g;

/** The same of the cipher that seals. */
const OWN_TEST = [
  '=t.randombytes_buf(t.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)',
  '$1=t.randombytes_buf(t.crypto_aead_xchacha20poly1305_ietf_KEYBYTES)',
  '$2=t.crypto_aead_xchacha20poly1305_ietf_encrypt($3,null,null,$4,$1)',
  '$5=t.crypto_aead_xchacha20poly1305_ietf_decrypt(null,$2,null,$4,$1)',
].join(',');

/** Gives one of the some 290 functions that the WebAssembly exports the name that the wrappers call it by. */
const NAMED_FUNCTION = /\b\w+\.(_(?:crypto|randombytes|sodium)_\w+)=\w+\.([\w$]+),/g;

/** The same of any that stays: two names may be one function's. */
const NAMED_EXPORT = /\b\w+\._\w+=\w+\.([\w$]+)/g;

/** Makes the WebAssembly run: beside this thread, but in turns that wait until this one has nothing else to do. */
const INSTANTIATED = /\bawait WebAssembly\.instantiate\((\w+),(\w+)\)/g;

/** Made for texts of the WebAssembly that are longer than 16 characters, which its own loop reads as well. */
const DECODER = /\bglobalThis\.TextDecoder&&new TextDecoder\b(?:\(\))?/g;

const RANDOM = 'getRandomValuesOfSystem';

/** Reads the kernel's source in blocks, gives each byte out once and wipes it. Where there is none, asks node:crypto. */
const RANDOM_SOURCE = `
  import { closeSync, openSync, readSync } from 'node:fs';
  import { randomFillSync } from 'node:crypto';
  const pool = new Uint8Array(1024);
  let used = pool.length;
  const refill = () => {
    try {
      const source = openSync('/dev/urandom', 'r');
      try {
        if (readSync(source, pool) === pool.length) return;
      } finally {
        closeSync(source);
      }
    } catch {}
    randomFillSync(pool);
  };
  const getRandomValues = (target) => {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    if (bytes.length > pool.length) return randomFillSync(target);
    if (used + bytes.length > pool.length) {
      refill();
      used = 0;
    }
    bytes.set(pool.subarray(used, used + bytes.length));
    pool.fill(0, used, (used += bytes.length));
    return target;
  };
  const ${RANDOM} = { getRandomValues };
`;

/** Replaces the one place that looks as it is known to. */
function replaceOnce(file, text, pattern, replacement) {
  const found = [...text.matchAll(pattern)];
  if (found.length !== 1) throw new Error(`${file}: ${pattern} is found ${found.length} times; look and adapt`);
  return text.replace(pattern, replacement);
}

/** What the sources name that load a package: the wrappers' functions, or those below them. */
async function namesInSources(name) {
  const folder = path.join(ROOT, 'src/keyring');
  const texts = await Promise.all(
    (await readdir(folder))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFile(path.join(folder, file), 'utf8')),
  );
  const found = texts
    .filter((text) => text.includes(`import('${name}')`))
    .flatMap((text) => [...text.matchAll(/\b_?((?:crypto|randombytes|SODIUM)_\w+)/g)].map(([, called]) => called));
  if (found.length === 0) throw new Error(`${name}: no source names a function of it; look and adapt`);
  return found;
}

/**
 * The wrappers of a package with only those functions and constants that the sources name, and those of the test that
 * libsodium makes of itself when it starts. `calls` are the functions of the WebAssembly that they call.
 */
async function trimmedWrappers(file, name) {
  const text = replaceOnce(file, await readFile(file, 'utf8'), SELF_TEST, OWN_TEST);
  const ofSelfTest = [...text.matchAll(/\bt\.((?:crypto|randombytes)_\w+)/g)].map(([, name]) => name);
  const kept = new Set([...ofSelfTest, ...(await namesInSources(name))]);
  if (ofSelfTest.length === 0) throw new Error(`${file}: does not test itself; look and adapt`);

  const listed = (list) => list.split(',').map((name) => name.replaceAll('"', ''));
  const quoted = (names) => names.map((name) => `"${name}"`).join(',');
  const fewer = replaceOnce(file, text, FUNCTIONS, (_whole, nameList, functionList) => {
    const [names, functions] = [listed(nameList), listed(functionList)];
    if (names.length !== functions.length) throw new Error(`${file}: a function has no name; look and adapt`);
    const at = names.flatMap((name, index) => (kept.has(name) ? [index] : []));
    return `e=[${quoted(at.map((index) => names[index]))}],a=[${at.map((index) => functions[index]).join(',')}]`;
  });
  const least = replaceOnce(file, fewer, CONSTANTS, (_whole, nameList) => {
    return `n=[${quoted(listed(nameList).filter((name) => kept.has(name)))}]`;
  });
  const { code } = await transform(least, { format: 'esm', treeShaking: true });
  const calls = new Set([...kept].map((name) => `_${name.toLowerCase()}`));
  for (const [, name] of code.matchAll(/\.(_(?:crypto|randombytes|sodium)_\w+)/g)) calls.add(name);
  return { code, calls };
}

/**
 * libsodium carries its WebAssembly as base64 text and decodes it with a loop in JavaScript, which is most of the time
 * that it takes to load: this puts the bytes beside the bundle, to be read. Of the hundreds of functions in it and around
 * it, which take most of the rest, only those stay that are called (scripts/trim-wasm.js), so few that to make them run at
 * once is sooner done than in turns of the event loop. And for random bytes it asks Web Crypto, when it starts and
 * for whatever it is asked to make of them: the first nonces of a process, the keys of sealed exports. To load that takes a
 * tenth of Node's own start. The kernel has the same bytes.
 *
 * `files` gets what is to be written: name → bytes.
 */
export function libsodiumFiles(files) {
  return {
    name: 'libsodium-files',
    setup(hooks) {
      hooks.onLoad({ filter: /[\\/]libsodium(-sumo)?\.mjs$/ }, async ({ path: file }) => {
        const text = await readFile(file, 'utf8');
        const kind = /-sumo\.mjs$/.test(file) ? '-sumo' : '';
        const name = `libsodium-wrappers${kind}`;
        const { path: wrappers } = await hooks.resolve(name, {
          kind: 'import-statement',
          resolveDir: ROOT,
        });
        const { calls } = await trimmedWrappers(wrappers, name);
        const dropped = new Set();
        const fewer = text.replaceAll(NAMED_FUNCTION, (whole, name, exported) => {
          if (calls.has(name)) return whole;
          dropped.add(exported);
          return '';
        });
        for (const [, exported] of fewer.matchAll(NAMED_EXPORT)) dropped.delete(exported);
        const contents = replaceOnce(file, fewer, DECODED, (_whole, base64) => {
          const bytes = trimWasm(Buffer.from(base64, 'base64'), (name) => dropped.has(name));
          const name = `${path.basename(file, '.mjs')}-${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}.wasm`;
          files.set(name, bytes);
          return `require("node:fs").readFileSync(require("node:path").join(__dirname,"${name}"))`;
        });
        const atOnce = replaceOnce(file, contents, INSTANTIATED, (_whole, bytes, imports) => {
          return `{instance:new WebAssembly.Instance(new WebAssembly.Module(${bytes}),${imports})}`;
        });
        const undecoded = replaceOnce(file, atOnce, DECODER, 'undefined');
        return { contents: undecoded.replace('import.meta.url', '""'), loader: 'js' };
      });
      hooks.onLoad({ filter: /[\\/]libsodium-wrappers\.mjs$/ }, async ({ path: file }) => {
        const name = file.includes('libsodium-wrappers-sumo') ? 'libsodium-wrappers-sumo' : 'libsodium-wrappers';
        const { code } = await trimmedWrappers(file, name);
        const contents = `${RANDOM_SOURCE}${code.replaceAll('globalThis.crypto', RANDOM)}`;
        if (contents.split(RANDOM).length < 4) throw new Error(`${file}: does not ask for Web Crypto; look and adapt`);
        return { contents, loader: 'js' };
      });
    },
  };
}
