import assert from 'node:assert/strict';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { citationsIn } from './support/citations.js';
import { headingsOf, withoutCodeBlocks } from './support/markdown.js';
import { allFiles, readRepositoryFile as read, root } from './support/repository-files.js';

// Tests of the documentation: links have a target, and citations name existing sections.

const markdown = allFiles.filter((file) => file.endsWith('.md'));
const protocolFolder = 'docs/protocol/';
const link = /\[([^\]]*)\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g;

interface Link {
  readonly from: string;
  readonly text: string;
  readonly target: string;
  readonly anchor: string | undefined;
}

function linksOf(from: string): Link[] {
  return [...withoutCodeBlocks(read(from)).matchAll(link)].map(
    ([, text = '', path = '', anchor]) => {
      const target = path === '' ? from : relative(root, join(root, dirname(from), path));
      return { from, text, target, anchor };
    },
  );
}

const links = markdown.flatMap(linksOf);

/** The pages of the protocol by name, each with the number and the anchor of its sections. */
const protocol = new Map(
  markdown
    .filter((file) => file.startsWith(protocolFolder) && !file.endsWith('README.md'))
    .map((file) => [
      file.slice(protocolFolder.length, -'.md'.length),
      new Map(
        headingsOf(read(file)).flatMap(({ text, anchor }) => {
          const number = /^\d+(?:\.\d+)*/.exec(text)?.[0];
          return number === undefined ? [] : [[number, anchor] as const];
        }),
      ),
    ]),
);

function isCited({ page, section }: { page: string | undefined; section: string }): boolean {
  return page !== undefined && protocol.get(page)?.has(section) === true;
}

describe('documentation', () => {
  it('has one title a page', () => {
    const bad = markdown.filter(
      (file) => [...withoutCodeBlocks(read(file)).matchAll(/^# /gm)].length !== 1,
    );
    assert.deepEqual(bad, []);
  });

  it('links only to files that exist', () => {
    const known = new Set(allFiles);
    const folders = new Set(allFiles.map((file) => dirname(file)));
    const bad = links
      .filter(({ target }) => !known.has(target) && !folders.has(target.replace(/\/$/, '')))
      .map(({ from, target }) => `${from} -> ${target}`);
    assert.deepEqual(bad, []);
  });

  it('links only to headings that exist', () => {
    const anchors = new Map(
      markdown.map((file) => [file, headingsOf(read(file)).map(({ anchor }) => anchor)]),
    );
    const bad = links
      .filter(({ target, anchor }) => anchor !== undefined && target.endsWith('.md'))
      .filter(({ target, anchor = '' }) => anchors.get(target)?.includes(anchor) !== true)
      .map(({ from, target, anchor }) => `${from} -> ${target}#${anchor}`);
    assert.deepEqual(bad, []);
  });

  it('lists every page of docs on the page that leads to them', () => {
    const listed = new Set(
      links.filter(({ from }) => from === 'docs/README.md').map(({ target }) => target),
    );
    const folders = new Set([
      'docs/decisions',
      'docs/internals',
      'docs/guides/patterns',
      'docs/protocol',
    ]);
    const bad = markdown
      .filter((file) => file.startsWith('docs/') && !folders.has(dirname(file)))
      .filter((file) => file !== 'docs/README.md' && !listed.has(file));
    assert.deepEqual(bad, []);
  });

  it('has at most forty words in the glossary, each once', () => {
    const rows = [...read('docs/glossary.md').matchAll(/^\| (?!word |-)([^|]+?) +\|/gm)];
    const words = rows.flatMap(([, cell = '']) => cell.split(', '));
    assert.ok(words.length > 20 && words.length <= 40, String(words.length));
    assert.equal(new Set(words).size, words.length);
  });

  it('names tests of the conformance suite that exist', () => {
    const suite = allFiles.filter((file) => file.startsWith('src/kv/conformance/')).map(read);
    const page = read('docs/internals/writing-an-engine.md');
    const rows = [...page.matchAll(/^\| .* \| `([^`]+)` +\|$/gm)];
    assert.ok(rows.length > 10, String(rows.length));
    const missing = rows.filter(([, name]) => !suite.some((text) => text.includes(`it('${name}'`)));
    assert.deepEqual(
      missing.map(([, name]) => name),
      [],
    );
  });

  it('gives every dependency a line in the decision records', () => {
    const names = ['package.json', 'extras/package.json'].flatMap((file) => {
      const manifest = JSON.parse(read(file)) as Record<string, Record<string, string>>;
      const groups = [manifest['dependencies'], manifest['devDependencies']];
      return groups.flatMap((group) => Object.keys(group ?? {}));
    });
    const text = read('docs/decisions/0002-dependencies.md');
    assert.deepEqual(
      names.filter((name) => !text.includes(`\`${name}\``)),
      [],
    );
  });
});

describe('citations of the protocol', () => {
  const texts = /\.(ts|js|mjs|http|md|py|go|java|rs|ya?ml)$/;

  it('name a page and a section that exist', () => {
    let count = 0;
    const bad = allFiles
      .filter((file) => texts.test(file))
      .flatMap((file) => {
        const inProtocol = file.startsWith(protocolFolder);
        const ownPage = inProtocol ? file.slice(protocolFolder.length, -'.md'.length) : undefined;
        const citations = citationsIn(read(file), ownPage);
        count += citations.length;
        return citations
          .filter((citation) => !isCited(citation))
          .map(({ excerpt }) => `${file}: ${excerpt}`);
      });
    assert.deepEqual(bad, []);
    assert.ok(count > 300, String(count));
  });

  it('are links to the section in documentation', () => {
    const bad = markdown
      .filter((file) => !file.startsWith(protocolFolder))
      .filter((file) => /\u00a7/.test(withoutCodeBlocks(read(file)).replace(link, '')));
    assert.deepEqual(bad, []);
    const wrong = links.flatMap(({ from, text, target, anchor }) => {
      const page = target.slice(protocolFolder.length, -'.md'.length);
      return citationsIn(text, page)
        .filter((cited) => protocol.get(cited.page ?? '')?.get(cited.section) !== anchor)
        .map(({ section }) => `${from}: ${section} -> ${target}#${anchor}`);
    });
    assert.deepEqual(wrong, []);
  });
});

describe('how citations are read', () => {
  it('takes further sections for those of the same page', () => {
    const read = citationsIn(
      'see table-service §2.2, §2.3 and §5.4 rule 4, queue-service §8 to §9.1.',
    );
    assert.deepEqual(
      read.map(({ page, section }) => `${page} ${section}`),
      [
        'table-service 2.2',
        'table-service 2.3',
        'table-service 5.4',
        'queue-service 8',
        'queue-service 9.1',
      ],
    );
  });

  it('reads on where a comment has a new line', () => {
    const lines = [
      '/**',
      ' * What holds (table-service',
      ' * \u00a72.2, queue-service',
      ' * \u00a73.5). */',
    ];
    const [first, second] = citationsIn(lines.join('\n'));
    assert.deepEqual([first?.page, first?.section], ['table-service', '2.2']);
    assert.deepEqual([second?.page, second?.section], ['queue-service', '3.5']);
  });

  it('gives no page to a section that has none', () => {
    for (const text of [
      '\u00a72',
      'table-service \u00a79 says, \u00a72 too',
      'table-service \u00a79. And \u00a72',
    ]) {
      const last = citationsIn(text).at(-1);
      assert.ok(last !== undefined && (last.page === undefined || !protocol.has(last.page)), text);
    }
  });
});
