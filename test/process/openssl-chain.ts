import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const EC = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';

/** A root, an intermediate and certificates of servers for localhost and 127.0.0.1, made with openssl; PEM texts. */
export function makeChain(folder: string) {
  const file = (name: string) => path.join(folder, name);
  const read = (name: string) => readFileSync(file(name), 'utf8').trim();
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });

  function issue(name: string, issuer: string, days: number, extensions: string): void {
    writeFileSync(file(`${name}.ext`), extensions);
    openssl(`req -new ${EC} -subj /O=Test/CN=${name} -keyout ${name}.key -out ${name}.csr`);
    const signed = `-CA ${issuer}.crt -CAkey ${issuer}.key -CAcreateserial -days ${days} -extfile ${name}.ext`;
    openssl(`x509 -req -in ${name}.csr ${signed} -out ${name}.crt`);
  }

  openssl(`req -x509 ${EC} -days 4000 -subj /O=Test/CN=root -keyout root.key -out root.crt`);
  issue('intermediate', 'root', 3650, 'basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\n');
  const server = 'subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n';
  issue('server', 'intermediate', 365, server);
  issue('soon', 'intermediate', 10, server);
  issue('brief', 'root', 10, 'basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\n');
  issue('below', 'brief', 365, server);
  openssl('pkcs8 -topk8 -in server.key -passout pass:secret -out pkcs8.key');
  openssl('ec -in server.key -aes256 -passout pass:secret -out sec1.key');
  return {
    root: read('root.crt'),
    intermediate: read('intermediate.crt'),
    server: read('server.crt'),
    key: read('server.key'),
    soon: read('soon.crt'),
    soonKey: read('soon.key'),
    /** An intermediate that soon ends, and a certificate that it issued. */
    brief: read('brief.crt'),
    below: read('below.crt'),
    /** `key`, encrypted with a passphrase in the two forms of PEM. */
    encrypted: { pkcs8: read('pkcs8.key'), sec1: read('sec1.key') },
  };
}
