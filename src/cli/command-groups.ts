import { Command } from 'commander';
import { preload } from './preload.js';

/** Commands of one subject, which are loaded only for a command line that names it. */
interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly load: () => Promise<readonly (() => Command)[]>;
}

const groups: readonly CommandGroup[] = [
  {
    name: 'table',
    summary: 'read and write tables, here or in the cloud',
    description: 'Read and write the tables of this server, of Azurite or of the cloud service.',
    async load() {
      preload('./table-commands.js');
      return (await import('./table-commands.js')).tableCommands;
    },
  },
  {
    name: 'queue',
    summary: 'put and get messages, here or in the cloud',
    description: 'Put and get messages of this server, of Azurite or of the cloud service.',
    async load() {
      preload('./queue-commands.js');
      return (await import('./queue-commands.js')).queueCommands;
    },
  },
  {
    name: 'blob',
    summary: 'put and get blobs, here or in the cloud',
    description: 'Put and get blobs of this server, of Azurite or of the cloud service.',
    async load() {
      preload('./blob-commands.js');
      return (await import('./blob-commands.js')).blobCommands;
    },
  },
  {
    name: 'sas',
    summary: 'make tokens that allow a part of what an account key allows',
    description:
      'Make shared access signatures: tokens that allow a part of what an account key allows, for ' +
      'a time. Works for this server, Azurite and the cloud.',
    async load() {
      preload('./sas/sas-commands.js');
      return (await import('./sas/sas-commands.js')).sasCommands;
    },
  },
  {
    name: 'partition',
    summary: 'spread the data over several stores',
    description:
      'Split, merge and move ranges of partitions over the stores of a server, while it serves them.',
    async load() {
      preload('./partition/partition-commands.js');
      return (await import('./partition/partition-commands.js')).partitionCommands;
    },
  },
  {
    name: 'import',
    summary: 'take over the data of another emulator',
    description: 'Take over the data of another emulator.',
    async load() {
      preload('./import-azurite.js');
      return [(await import('./import-azurite.js')).importAzuriteCommand];
    },
  },
];

/** All groups. Those that `isWanted` have their commands; the others could only be listed. */
export function groupCommands(isWanted: (name: string) => boolean): Promise<readonly Command[]> {
  return Promise.all(
    groups.map(async ({ name, summary, description, load }) => {
      const group = new Command(name).summary(summary).description(description);
      if (isWanted(name)) for (const make of await load()) group.addCommand(make());
      return group;
    }),
  );
}
