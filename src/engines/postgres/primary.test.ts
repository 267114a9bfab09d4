import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../../../test/support/manual-timers.js';
import { primaryOver } from '../../../test/support/primary-over.js';
import {
  noRows,
  scriptedPostgres,
  welcome,
  type ScriptedPostgres,
} from '../../../test/support/scripted-postgres.js';
import { systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { invariant } from '../../base/invariant.js';
import { systemRandomness } from '../../base/randomness.js';
import { StoreClosedError } from '../../kv/errors.js';
import { Acknowledgements } from './acknowledgements.js';
import type { ConnectionSource } from './connection-source.js';
import { DatabaseError } from './database-error.js';
import { Replicas } from './replicas.js';
import { statementsFor } from './statements.js';
import { WatchedPrimary } from './watched-primary.js';

const limitMs = 20_000;

describe('a close while a connection is being opened', () => {
  let server: Server;
  let address = '';
  before(async () => {
    server = createServer((socket) => socket.on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = server.address();
    invariant(typeof own === 'object' && own !== null, 'a server that listens has a port');
    address = `postgres://user:password@127.0.0.1:${own.port}/name`;
  });
  after(() => server.close());

  function sourceOf(kind: 'primary' | 'standbys') {
    const addresses = [address, address];
    const { primary, timers, troubles } = primaryOver(addresses);
    if (kind === 'standbys') {
      const own = { prepares: true, timers, randomness: systemRandomness };
      const replicas = new Replicas({ ...own, addresses });
      return { source: replicas, close: () => replicas.close(), troubles };
    }
    const acknowledgements = new Acknowledgements({
      statements: statementsFor('tabularium'),
      clock: systemClock,
      accepts: false,
      onLoss: () => assert.fail('nothing is lost'),
    });
    const source = new WatchedPrimary(primary, acknowledgements);
    return { source, close: () => primary.close(), troubles };
  }

  /**
   * Closes when the server has got something behind what it says. The timers of the package must
   * stand still, so that its own limit ends nothing.
   */
  async function closesWhile(
    { source, close }: { readonly source: ConnectionSource; readonly close: () => void },
    says: Buffer,
  ): Promise<void> {
    const opening = assert.rejects(source.connect(limitMs), StoreClosedError);
    const socket = await nextOf(server);
    await once(socket, 'data');
    if (says.length > 0) {
      const more = once(socket, 'data');
      socket.write(says);
      await more;
    }
    close();
    await opening;
    await ended(socket);
  }

  for (const kind of ['primary', 'standbys'] as const) {
    it(`of the ${kind} ends it where a server accepts and says nothing`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const parts = sourceOf(kind);
      await closesWhile(parts, Buffer.alloc(0));
      assert.deepEqual(parts.troubles, []);
    });

    it(`of the ${kind} ends it where a server lets in and answers nothing`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const parts = sourceOf(kind);
      await closesWhile(parts, welcome);
      assert.deepEqual(parts.troubles, []);
    });
  }

  it('ends the pause between two attempts, and no server is asked any more', async (t) => {
    // The limit of the package stands still: where the machine stalls for as long, both connections
    // come in one turn, and the second is missed.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { source, close, troubles } = sourceOf('primary');
    const opening = assert.rejects(source.connect(limitMs), StoreClosedError);
    for (const _ of [1, 2]) (await nextOf(server)).destroy();
    while (troubles.length === 0) await turn();
    let isAsked = false;
    server.once('connection', () => {
      isAsked = true;
    });
    close();
    await opening;
    await assert.rejects(source.connect(limitMs), StoreClosedError);
    assert.equal(isAsked, false);
  });
});

const refusals = {
  password: ['SFATAL', 'VFATAL', 'C28P01', 'Mpassword authentication failed'],
  name: ['SFATAL', 'VFATAL', 'C3D000', 'Mdatabase "name" does not exist'],
  starting: ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up'],
} as const;

type Host = keyof typeof refusals;

describe('the first connection to a list of hosts', () => {
  const first = (servers: readonly ScriptedPostgres[]) =>
    primaryOver(servers.map(({ address }) => address));

  const said: Readonly<Record<Host, string>> = {
    password: 'password authentication failed. Look at the password in its URL',
    name: 'database "name" does not exist. Make the database first: create database NAME',
    starting: 'the database system is starting up',
  };

  for (const [one, other] of [
    ['password', 'name'],
    ['name', 'password'],
    ['password', 'starting'],
    ['starting', 'password'],
  ] as const) {
    it(`says what each has said, and what to do about it: ${one}, ${other}`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      await using a = await scriptedPostgres(
        () => noRows,
        () => refusals[one],
      );
      await using b = await scriptedPostgres(
        () => noRows,
        () => refusals[other],
      );
      const { primary } = first([a, b]);
      const shown = ({ address }: ScriptedPostgres) => address.replace(':password', '');
      const expected =
        'The database cannot be used. No database takes writes: ' +
        `${shown(a)}: ${said[one]}; ${shown(b)}: ${said[other]}`;
      await assert.rejects(primary.connectFirst(0), (error) => {
        assert.equal(DatabaseError.of(error).message, expected);
        return true;
      });
    });
  }

  it('says what to do about a host where nothing listens', async () => {
    const closed = await scriptedPostgres(
      () => noRows,
      () => refusals.starting,
    );
    await closed[Symbol.asyncDispose]();
    const { primary } = first([closed]);
    await assert.rejects(
      primary.connectFirst(0),
      /ECONNREFUSED .*\. Start it, or look at the host and the port in its URL$/,
    );
  });

  it('is given up at once where every host refuses for ever', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using a = await scriptedPostgres(
      () => noRows,
      () => refusals.password,
    );
    await using b = await scriptedPostgres(
      () => noRows,
      () => refusals.name,
    );
    const { primary, timers } = first([a, b]);
    await assert.rejects(primary.connectFirst(limitMs), /password authentication failed/);
    assert.equal(timers.waiting, 0);
  });

  for (const order of ['before', 'behind'] as const) {
    it(`waits for a host that starts ${order} one that refuses for ever`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const asked = new AbortController();
      await using refusing = await scriptedPostgres(
        () => noRows,
        () => refusals.password,
      );
      await using starting = await scriptedPostgres(
        () => noRows,
        () => {
          if (asked.signal.aborted) return [];
          asked.abort();
          return refusals.starting;
        },
      );
      const hosts = order === 'before' ? [starting, refusing] : [refusing, starting];
      const { primary, timers } = first(hosts);
      const found = primary.connectFirst(limitMs);
      const ended = new AbortController();
      void found.catch(() => undefined).finally(() => ended.abort());
      // Pauses between attempts, which are shorter than any step of a deadline.
      while (!ended.signal.aborted) {
        await turn();
        timers.fire(1_000);
      }
      await (await found).close();
    });
  }
});

describe('a server that takes writes', () => {
  const refusing = () => {
    const state: { refusal: readonly string[]; asked: number } = { refusal: [], asked: 0 };
    const start = () =>
      scriptedPostgres(
        () => noRows,
        () => {
          state.asked += 1;
          return state.refusal;
        },
      );
    return { state, start };
  };

  const primaryOf = (servers: readonly ScriptedPostgres[]) =>
    primaryOver(servers.map(({ address }) => address));

  it('is kept when one before it in the list takes writes as well', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const [one, other] = [refusing(), refusing()];
    one.state.refusal = refusals.starting;
    await using a = await one.start();
    await using b = await other.start();
    const { primary } = primaryOf([a, b]);
    await (await primary.connect(limitMs)).close();
    one.state.refusal = [];
    await (await primary.connect(limitMs)).close();
    assert.deepEqual([one.state.asked, other.state.asked], [1, 2]);
    other.state.refusal = refusals.starting;
    await (await primary.connect(limitMs)).close();
    assert.deepEqual([one.state.asked, other.state.asked], [2, 3]);
    primary.close();
  });

  it('is found again although nobody asks for a connection any more', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { state, start } = refusing();
    state.refusal = ['SFATAL', 'VFATAL', 'C53300', 'Msorry, too many clients already'];
    await using server = await start();
    const { primary, timers, clock, troubles } = primaryOf([server]);
    const ended = new AbortController();
    const given = assert.rejects(primary.connect(0), /too many clients already/);
    void given.finally(() => ended.abort());
    while (!ended.signal.aborted) {
      await turn();
      clock.advanceMicros(100_000);
      timers.fire(1_000);
    }
    await given;
    for (const refusal of [state.refusal, []]) {
      state.refusal = refusal;
      assert.notEqual(primary.trouble, undefined);
      const { asked } = state;
      await until(() => timers.waiting > 0);
      timers.fire();
      await until(() => state.asked > asked);
    }
    await until(() => primary.trouble === undefined);
    assert.equal(troubles.at(-1), undefined);
    primary.close();
    await until(() => timers.waiting === 0);
  });

  it('is found again although the last caller needs no connection any more', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { state, start } = refusing();
    state.refusal = refusals.starting;
    await using server = await start();
    const { primary, timers, troubles } = primaryOf([server]);
    const over = new AbortController();
    const given = assert.rejects(primary.connectPatiently(limitMs, over.signal), StoreClosedError);
    // The pause before the next attempt.
    await until(() => timers.waiting > 0);
    over.abort();
    await given;
    assert.notEqual(primary.trouble, undefined);
    state.refusal = [];
    await until(() => timers.waiting > 0);
    timers.fire();
    await until(() => primary.trouble === undefined);
    assert.equal(troubles.at(-1), undefined);
    primary.close();
    await until(() => timers.waiting === 0);
  });
});

/** The next connection to a server. */
async function nextOf(server: Server): Promise<Socket> {
  return new Promise((resolve) => server.once('connection', resolve));
}

async function ended(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
