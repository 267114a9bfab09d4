import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  bound,
  temporaryContent,
  type WrapFiles,
} from '../../../test/support/content/temporary-content.js';
import { naming, put, putWaiting, sample, sweep } from '../conformance/samples.js';
import type { ContentFiles } from './content-files.js';

it('goes on when another process has swept a session between its look and its read', async (t) => {
  let between: (() => Promise<unknown>) | undefined;
  const wrap: WrapFiles = (files: ContentFiles) =>
    new Proxy(files, {
      get(target, name) {
        if (name !== 'open') return bound(target, name);
        return async (path: string) => {
          const sweepBeside = path.endsWith('.left') ? between : undefined;
          if (sweepBeside !== undefined) between = undefined;
          await sweepBeside?.();
          return target.open(path);
        };
      },
    });
  const { content, openBeside, count, dispose } = await temporaryContent({ wrap });
  t.after(dispose);
  const named = await put(content, sample(10));
  await putWaiting(content, sample(20));
  const [first, second] = [await openBeside(), await openBeside()];
  await content.close();
  between = async () => assert.equal((await sweep(second, naming(named))).deleted, 1);
  const swept = await sweep(first, naming(named));
  assert.deepEqual([swept, between], [{ looked: 0, deleted: 0, more: false }, undefined]);
  assert.equal(await count(), 1);
});
