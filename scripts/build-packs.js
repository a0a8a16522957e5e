import { createHash } from 'node:crypto';

/** `require` of another file of the bundle, as esbuild writes it. */
const REQUIRE = /\brequire\("\.\.?\/(?:chunks\/)?([\w.-]+\.cjs)"\)/g;

const ENTRY = 'main.cjs';

/** The outputs of a bundle that are loaded with an output, itself among them. */
function closureOf(outputs, start, isExcluded = () => false) {
  const reached = new Set([start]);
  for (const file of reached) {
    for (const found of outputs[file].imports) {
      if (found.kind === 'import-statement' && !found.external && !isExcluded(found.path)) reached.add(found.path);
    }
  }
  return reached;
}

/**
 * Puts files of the bundle that are loaded together into one: each file of its own costs a start a quarter of a
 * millisecond. There are three packs:
 *
 *     cli/main.cjs             what every command needs
 *     chunks/direct-….cjs      what opening a vault needs besides: the outputs that come from one of `direct`
 *     chunks/operations-….cjs  what operations need besides: the outputs that come from one of `operations`
 *
 * A pack holds its files as functions, which run when they are first asked for: `$file("name")`.
 *
 * Of the second pack, the output that comes from `begun` has a promise `ready` and runs as soon as the pack is loaded:
 * when libsodium is asked for, nothing of its start is left to wait for.
 *
 * `codes` are the CommonJS texts by name, `metafile` is esbuild's. Answers texts by name, those of packs and the others.
 */
export function packTogether(codes, metafile, { direct, operations, begun }) {
  const { outputs } = metafile;
  const nameOf = (file) => file.split('/').at(-1);
  const entry = Object.keys(outputs).find((file) => nameOf(file) === ENTRY);
  const starts = (prefixes) =>
    Object.keys(outputs).filter((file) => prefixes.some((prefix) => outputs[file].entryPoint?.endsWith(prefix)));

  const first = new Set([entry, ...starts(['fewer-files:first'])].flatMap((file) => [...closureOf(outputs, file)]));
  const second = new Set(starts(direct).flatMap((file) => [...closureOf(outputs, file, (found) => first.has(found))]));
  for (const file of first) second.delete(file);
  if (second.size < direct.length) throw new Error(`packs: not all of ${direct.join(', ')} are in the bundle`);
  const isBefore = (file) => first.has(file) || second.has(file);
  const third = new Set(starts(operations).flatMap((file) => [...closureOf(outputs, file, isBefore)]));
  for (const file of second) third.delete(file);

  const packOf = new Map([
    ...[...first].map((file) => [nameOf(file), 'first']),
    ...[...second].map((file) => [nameOf(file), 'direct']),
    ...[...third].map((file) => [nameOf(file), 'operations']),
  ]);
  const hash = createHash('sha256');
  for (const file of [...first, ...second, ...third]) hash.update(codes.get(nameOf(file)));
  const made = hash.digest('hex').slice(0, 8);
  const files = { first: ENTRY, direct: `direct-${made}.cjs`, operations: `operations-${made}.cjs` };

  /** `from` is a pack, or undefined for a file of its own; only the entry is not among the chunks. */
  function linked(code, from) {
    const chunks = from === 'first' ? '../chunks/' : './';
    const main = from === 'first' ? './' : '../cli/';
    return code.replace(REQUIRE, (_whole, name) => {
      const pack = packOf.get(name);
      if (pack === undefined) return `require("${chunks}${name}")`;
      if (pack === from) return `$file("${name}")`;
      return `require("${pack === 'first' ? main : chunks}${files[pack]}").$file("${name}")`;
    });
  }

  function packText(pack, members) {
    const functions = members.map((file) => {
      const name = nameOf(file);
      return `${JSON.stringify(name)}:(function(exports,module){${linked(codes.get(name), pack)}\n})`;
    });
    const load =
      'const $files={' +
      functions.join(',\n') +
      '},$done=new Map,$file=name=>{let module=$done.get(name);' +
      'if(module===undefined){$done.set(name,module={exports:{}});$files[name](module.exports,module)}return module.exports};';
    const own = pack === 'first' ? `main:(...words)=>$file("${ENTRY}").main(...words),` : '';
    // Whoever waits for it is told of a failure.
    const [early] = pack === 'direct' ? starts([begun]).map(nameOf) : [];
    const begin = early === undefined ? '' : `$file("${early}").ready.catch(()=>{});`;
    return `${load}module.exports={${own}$file};${begin}`;
  }

  const packed = new Map([
    [files.operations, packText('operations', [...third])],
    [files.direct, packText('direct', [...second])],
    [files.first, packText('first', [...first])],
  ]);
  for (const [name, code] of codes) if (!packOf.has(name)) packed.set(name, linked(code, undefined));
  return packed;
}
