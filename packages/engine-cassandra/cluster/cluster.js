// Fetches Cassandra from Maven and runs nodes of it on this machine, for tests.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const jars = fileURLToPath(new URL('../node_modules/.cassandra/', import.meta.url));
/** Written last, so that a download that broke off is none. */
const fetched = join(jars, '.complete');
const startMillisMax = 300_000;
const heapMegabytes = 512;

/** What Cassandra 5 opens of Java 17, as its own scripts do. */
const opened = [
  'jdk.internal.misc jdk.internal.ref jdk.internal.reflect jdk.internal.math jdk.internal.module',
  'jdk.internal.loader jdk.internal.util.jar sun.nio.ch java.io java.nio java.util java.util.concurrent',
  'java.util.concurrent.atomic java.lang java.lang.module java.lang.ref java.lang.reflect java.net',
]
  .flatMap((names) => names.split(' '))
  .map((name) => `java.base/${name}`);
const others = [
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  'java.rmi/sun.rmi.registry',
  'java.rmi/sun.rmi.server',
  'java.sql/java.sql',
  'jdk.unsupported/sun.misc',
  'jdk.management/com.sun.management.internal',
];
const javaOptions = [
  ...[...opened, ...others].flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
  ...[...opened, ...others].flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
  '-Djdk.attach.allowAttachSelf=true',
  `-Xms${heapMegabytes}m`,
  `-Xmx${heapMegabytes}m`,
];

/** False, or why no cluster can run here. */
export function withoutCassandra() {
  const java = spawnSync('java', ['-version'], { encoding: 'utf8' });
  if (java.status !== 0) return 'They need Java 17';
  const release = Number(/version "(\d+)/.exec(java.stderr)?.[1]);
  if (release !== 17) return `They need Java 17, and this is Java ${release}`;
  if (existsSync(fetched)) return false;
  if (spawnSync('mvn', ['-version']).status !== 0)
    return 'They need Maven, which fetches Cassandra';
  return false;
}

/** Fetches the nodes once. */
export async function fetchCassandra() {
  if (existsSync(fetched)) return;
  process.stderr.write('Fetching Cassandra (66 MB, once) …\n');
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${jars}`, '-q', '-B'];
  const { status } = spawnSync('mvn', [...goal, '-f', join(here, 'pom.xml')], { stdio: 'inherit' });
  if (status !== 0) throw new Error('Maven could not fetch Cassandra: see above.');
  await writeFile(fetched, '');
}

/** Runs so many nodes on 127.0.0.1, 127.0.0.2 and so on, until `stop`. */
export async function startCluster(count = 1) {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-cassandra-'));
  const ports = { native: await freePort(), storage: await freePort() };
  const nodes = [];
  const stop = async () => {
    for (const node of nodes) await node.kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (let index = 1; index <= count; index += 1) {
      nodes.push(await startNode({ folder, ports, address: `127.0.0.${index}` }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { contactPoints: nodes.map(({ address }) => `${address}:${ports.native}`), nodes, stop };
}

async function startNode({ folder, ports, address }) {
  const data = join(folder, address);
  await mkdir(data, { recursive: true });
  const settings = join(data, 'cassandra.yaml');
  await writeFile(settings, JSON.stringify(settingsOf({ data, ports, address }), undefined, 2));
  const log = join(data, 'log');
  const program = [
    ...javaOptions,
    `-Dcassandra.config=file://${settings}`,
    `-Dcassandra.storagedir=${data}`,
    '-Dcassandra-foreground=yes',
    '-Dcassandra.ring_delay_ms=2000',
    '-Dcassandra.superuser_setup_delay_ms=0',
    '-Dcassandra.skip_wait_for_gossip_to_settle=0',
    '-cp',
    `${jars}*`,
    'org.apache.cassandra.service.CassandraDaemon',
  ];
  const shell = `exec java "$@" > '${log}' 2>&1`;
  const child = spawn('sh', ['-c', shell, 'sh', ...program], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  const until = Date.now() + startMillisMax;
  while (!(await readFile(log, 'utf8').catch(() => '')).includes('Starting listening for CQL')) {
    if (child.exitCode === null && Date.now() < until) {
      await pause(200);
      continue;
    }
    await kill();
    const text = await readFile(log, 'utf8');
    throw new Error(`Cassandra did not start on ${address}:\n${text.slice(-3_000)}`);
  }
  return { address, kill };
}

/** JSON is YAML. */
function settingsOf({ data, ports, address }) {
  return {
    cluster_name: 'tabularium',
    num_tokens: 1,
    partitioner: 'org.apache.cassandra.dht.Murmur3Partitioner',
    endpoint_snitch: 'SimpleSnitch',
    seed_provider: [
      {
        class_name: 'org.apache.cassandra.locator.SimpleSeedProvider',
        parameters: [{ seeds: `127.0.0.1:${ports.storage}` }],
      },
    ],
    listen_address: address,
    rpc_address: address,
    storage_port: ports.storage,
    native_transport_port: ports.native,
    data_file_directories: [join(data, 'data')],
    commitlog_directory: join(data, 'commitlog'),
    saved_caches_directory: join(data, 'caches'),
    hints_directory: join(data, 'hints'),
    cdc_raw_directory: join(data, 'cdc'),
    // Answers when a change is on disk.
    commitlog_sync: 'batch',
    paxos_variant: 'v2',
    auto_snapshot: false,
    memtable_heap_space: '96MiB',
    memtable_offheap_space: '64MiB',
    networking_cache_size: '32MiB',
    file_cache_size: '32MiB',
    key_cache_size: '8MiB',
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
