import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { defaultLimits } from '../../src/http/pipeline/limits.js';
import type { SimRandom } from '../support/sim-random.js';
import * as attacks from './attacks.js';
import { Finding } from './finding.js';
import { residentBytes } from './processes.js';
import type { Scenario } from './scenario.js';
import { untroubled, World, type WorldOptions } from './world.js';

/** The most memory that an attack may add, in bytes. */
const growthBytesMax = 512 * 1024 * 1024;

type Attack = (world: World) => Promise<void>;

/** An attack under load: clients notice nothing, and the server is unchanged afterwards. */
async function underAttack(random: SimRandom, attack: Attack, options: WorldOptions) {
  await using world = await World.make(random, options);
  const pid = world.server.pid;
  const before = residentBytes(pid);
  const growth = await world.whileServing(async () => {
    const load = world.beginLoad(untroubled);
    await attack(world);
    const after = residentBytes(pid);
    await load.end();
    await world.settle();
    return after - before;
  });
  if (growth > growthBytesMax) throw new Finding(`${growth} bytes of memory more`);
  await world.restart();
  await world.settle();
  return 'goes on' as const;
}

function scenario(name: string, attack: Attack, options: WorldOptions = {}): Scenario {
  return {
    area: 'sockets',
    name,
    run: (random) => {
      const workers = random.chance(0.3) ? 2 : 1;
      return underAttack(random, attack, { workers, ...options });
    },
  };
}

/** The first bytes that a client of TLS sends. */
async function clientHello(): Promise<Buffer> {
  const sink = createServer().listen(0, '127.0.0.1');
  await once(sink, 'listening');
  const { port } = sink.address() as AddressInfo;
  const client = connectTls({ port, host: '127.0.0.1', servername: 'localhost' });
  client.on('error', () => undefined);
  const [socket] = (await once(sink, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  sink.close();
  return hello;
}

const tls = { tls: true, workers: 1 };

export const socketScenarios: readonly Scenario[] = [
  scenario('methods', (world) => attacks.everyMethod(world, 400)),
  scenario('connect', (world) => attacks.everyMethod(world, 400), { workers: 1 }),
  scenario('each-byte', (world) => attacks.everyByte(world, 1)),
  scenario('half-open', (world) => attacks.halfOpen(world, 50)),
  scenario('pipelining', (world) => attacks.pipelining(world, defaultLimits.waitingRequestsMax)),
  scenario('never-reading', (world) => attacks.neverReading(world, 40)),
  scenario('one-byte-chunks', (world) => attacks.oneByteChunks(world, 30_000)),
  scenario('nonsense', (world) => attacks.nonsense(world, 300)),
  scenario('tls-methods', (world) => attacks.everyMethod(world, 200), tls),
  scenario('tls-each-byte', (world) => attacks.everyByte(world, 0.5), tls),
  scenario('tls-nonsense', (world) => attacks.nonsense(world, 150), tls),
  scenario(
    'tls-handshakes',
    async (world) => attacks.brokenHandshakes(world, await clientHello(), 1),
    tls,
  ),
];
