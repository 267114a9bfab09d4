import { temporaryContent } from '../../../test/support/content/temporary-content.js';
import { contentConformance } from '../conformance/index.js';

contentConformance({
  name: 'content in files',
  open: () => temporaryContent(),
  modelRuns: 12,
  capabilities: { persistent: true, damageable: true },
});
