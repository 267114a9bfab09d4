import { readdirSync, readFileSync } from 'node:fs';

export interface SourceFile {
  /** Below its layer. */
  readonly name: string;
  readonly text: string;
}

/** The sources of the server that can name an error of the protocol, without their tests. */
export function serverSources(): SourceFile[] {
  const root = new URL('../../../src/', import.meta.url);
  return ['http', 'services', 'wire'].flatMap((layer) =>
    readdirSync(new URL(`${layer}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => ({ name, text: readFileSync(new URL(`${layer}/${name}`, root), 'utf8') })),
  );
}
