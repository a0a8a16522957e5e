/**
 * Sends the traffic of an attack, which it reads from standard input, until it is killed. Prints the numbers of replies
 * by status as a line of JSON when all is sent, and after each change.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

/** More connections at once would overflow the system's queue of new connections. */
const WIDTH = 100;
const MAX_SENDING_MS = 1_000;
const [LIFE_MS, REPEAT_MS] = [120_000, 300];
const STATUS_LINE = /HTTP\/1\.1 (\d{3}) /g;

const {
  port,
  connections,
  texts,
  reads = false,
  drips = false,
  repeats = false,
} = JSON.parse(await text(process.stdin));
const statuses = {};
let printed = '';

async function open() {
  const socket = connect({ port, host: '127.0.0.1' });
  if (reads) socket.setEncoding('latin1').on('data', count);
  else socket.pause();
  // A daemon that has ended refuses the connection.
  await once(socket, 'connect').catch(() => undefined);
  return socket.on('error', () => undefined);
}

function count(received) {
  for (const [, status] of received.matchAll(STATUS_LINE)) statuses[status] = (statuses[status] ?? 0) + 1;
}

function print() {
  const line = JSON.stringify(statuses);
  if (line !== printed) process.stdout.write(`${line}\n`);
  printed = line;
}

async function sendAll() {
  const sockets = [];
  while (sockets.length < connections) {
    const width = Math.min(WIDTH, connections - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: width }, open))));
  }
  const sent = sockets.map(
    (socket, index) => new Promise((resolve) => socket.write(texts[index % texts.length], resolve)),
  );
  // A daemon that defends itself leaves bytes unread.
  await Promise.race([Promise.all(sent), setTimeout(MAX_SENDING_MS)]);
  return sockets;
}

let sockets = await sendAll();
print();
setInterval(print, 50);
if (drips) setInterval(() => sockets.map((socket) => socket.write('x')), 1_000);
while (repeats) {
  await setTimeout(REPEAT_MS);
  for (const socket of sockets) socket.destroy();
  sockets = await sendAll();
}
await setTimeout(LIFE_MS);
process.exit();
