import { Pool } from 'undici';
import { expect, it, onTestFinished, vi } from 'vitest';
import { certificatePlace, RELOADED } from './certificate-fixture.ts';
import { CERT, CERT_KEY, NEXT_CERT, NEXT_KEY } from './http-certificate.ts';

const { write, serve } = certificatePlace();
const RELOADS = 4;

const CONNECTIONS = 500;

it.runIf(process.platform !== 'win32')(
  'SIGHUP reloads the certificate under many connections without a failure',
  async () => {
    const { url, hangUp, served, lines } = await serve();
    const ca = [CERT, NEXT_CERT];
    const pool = new Pool(url.origin, { connections: CONNECTIONS, connect: { ca } });
    onTestFinished(() => pool.destroy());
    let [answered, failed, isOver] = [0, 0, false];
    onTestFinished(() => {
      isOver = true;
    });
    const loops = Array.from({ length: CONNECTIONS }, async (_, at) => {
      for (let i = 0; !isOver; i += 1) {
        // Some requests close their connection, so that clients also connect during a reload.
        const reset = (i + at) % 20 === 0;
        try {
          const { statusCode, body } = await pool.request({ method: 'GET', path: '/livez', reset });
          await body.dump();
          if (statusCode === 200) answered += 1;
          else failed += 1;
        } catch {
          failed += 1;
        }
      }
    });
    await vi.waitFor(() => expect(pool.stats.connected).toBeGreaterThan(CONNECTIONS * 0.9), 20_000);
    for (let i = 0; i < RELOADS; i += 1) {
      const before = answered;
      if (i % 2 === 0) write(NEXT_CERT, NEXT_KEY);
      else write(CERT, CERT_KEY);
      expect(await hangUp()).toEqual([RELOADED]);
      await vi.waitFor(() => expect(answered).toBeGreaterThan(before + CONNECTIONS), 10_000);
      expect(await served()).toBe(i % 2 === 0 ? NEXT_CERT : CERT);
    }
    isOver = true;
    await Promise.all(loops);
    expect(failed).toBe(0);
    expect(lines()).toHaveLength(RELOADS);
  },
  60_000,
);
