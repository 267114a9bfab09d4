import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, runInView, succeeds } from './process.js';

const project = fileURLToPath(new URL('../../test/interop/java/pom.xml', import.meta.url));
/** What is compiled belongs outside of the sources. */
const target = join(tmpdir(), 'tabularium-interop-java-classes');
const maven = ['--batch-mode', '--file', project, `-Dtarget=${target}`, '-Dstyle.color=never'];

export const java = {
  name: 'java',
  clients: [
    'azure-data-tables 12.5.9',
    'azure-storage-queue 12.29.0',
    'azure-storage-blob 12.34.0',
    'Apache Camel 4.14.0',
  ],
  missing: () =>
    answers('mvn', ['--version']) ? undefined : 'it needs a JDK 17 or newer and Maven',
  prepare: () => succeeds('mvn', [...maven, '--quiet', 'test-compile']),
  run: (env) => runInView('mvn', [...maven, '--no-transfer-progress', 'surefire:test'], { env }),
};
