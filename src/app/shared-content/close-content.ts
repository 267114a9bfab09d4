import type { FileContent } from '../../content/files/content.js';
import type { Logger } from '../../http/exchange/logger.js';

/** Closes content in order, and logs how many of its extents are left to the sweep. */
export async function closeContent(content: FileContent, logger: Logger): Promise<void> {
  await content.close();
  const { waiting: extents } = content;
  if (extents === 0) return;
  logger.info('bytes of blobs waited for their commits: the next sweep asks which are named', {
    extents,
  });
}
