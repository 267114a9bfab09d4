import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Command, Option } from 'commander';
import { buildProgram } from './program.js';

const page = readFileSync(
  new URL('../../../docs/reference/command-line.md', import.meta.url),
  'utf8',
);

/** The commands without subcommands, by their full names. */
function leaves(command: Command, name = command.name()): [string, Command][] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((child) => leaves(child, `${name} ${child.name()}`));
}

function sectionOf(name: string): string {
  const start = page.indexOf(`\n## ${name}\n`);
  assert.notEqual(start, -1, `no section '## ${name}'`);
  const end = page.indexOf('\n## ', start + 1);
  return page.slice(start, end === -1 ? undefined : end);
}

/** How the page writes an option: each of its names, the last with the argument, as code. */
function written({ short, long, flags }: Option): string[] {
  const argument = / [<[].+[>\]]$/.exec(flags)?.[0] ?? '';
  return [...(short === undefined ? [] : [`\`${short}\``]), `\`${long}${argument}\``];
}

const program = await buildProgram();

void describe('docs/reference/command-line.md', () => {
  const commands = leaves(program);

  void it('has a section for every command', () => {
    assert.deepEqual(
      commands.map(([name]) => name),
      [...page.matchAll(/^## (tabularium .+)$/gm)].map((match) => match[1]),
    );
  });

  for (const [name, command] of commands) {
    void it(`names every option of ${name}, with its default, and no other`, () => {
      const section = sectionOf(name);
      for (const option of command.options) {
        for (const text of written(option)) {
          assert.ok(section.includes(text), `${text} is missing`);
        }
        const named = `\`${option.long}`;
        const rows = section.split('\n').filter((line) => line.startsWith('|'));
        const row = rows.find((line) => line.includes(named)) ?? '';
        const { defaultValue, envVar, argChoices = [] } = option;
        const isValue = typeof defaultValue === 'string' || typeof defaultValue === 'number';
        const facts = [...(isValue ? [String(defaultValue)] : []), envVar ?? '', ...argChoices];
        for (const fact of facts) {
          const place = envVar === 'AZURE_STORAGE_CONNECTION_STRING' ? page : row;
          assert.ok(place.includes(fact), `${option.long}: ${fact} is missing`);
        }
      }
      const known = new Set(command.options.map(({ long }) => long));
      const flags = [...section.matchAll(/(?<![\w-])--[A-Za-z][A-Za-z0-9-]*/g)].map(
        ([flag]) => flag,
      );
      assert.deepEqual(
        flags.filter((flag) => !known.has(flag)),
        [],
      );
    });

    void it(`explains every option of ${name} in its help`, () => {
      const help = command.helpInformation();
      for (const { flags, description } of command.options) {
        assert.ok(help.includes(flags), flags);
        assert.notEqual(description, '', `${flags} has no description`);
      }
    });
  }
});
