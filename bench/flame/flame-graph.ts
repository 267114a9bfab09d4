import { escapeXml } from '../../src/wire/xml/escape.js';
import type { CallNode, CodeOwner } from './call-tree.js';

const width = 1600;
const margin = 10;
const rowHeight = 18;
const headHeight = 64;
const characterWidth = 6.7;
/** Narrower frames are not drawn, because they would be invisible. */
const widthMin = 0.4;
/** Narrower frames have no text in them. */
const textWidthMin = 24;

const owners: Readonly<Record<CodeOwner, { readonly title: string; readonly colour: string }>> = {
  own: { title: 'this repository', colour: '#f4a259' },
  dependency: { title: 'dependencies', colour: '#8cb369' },
  node: { title: 'node', colour: '#7fb3d5' },
  native: { title: 'native code: system calls, LMDB, OpenSSL', colour: '#c9c9c9' },
  collector: { title: 'garbage collection', colour: '#e07a7a' },
};

/** A frame and its place. */
interface Frame {
  readonly node: CallNode;
  readonly depth: number;
  readonly x: number;
  readonly width: number;
}

/** The frames of the graph: callers above callees, and widths by time. */
function framesOf(threads: readonly CallNode[]): readonly Frame[] {
  const total = threads.reduce((sum, { micros }) => sum + micros, 0);
  const frames: Frame[] = [];
  const place = (nodes: readonly CallNode[], depth: number, from: number): void => {
    let x = from;
    for (const node of nodes) {
      const frameWidth = ((width - 2 * margin) * node.micros) / total;
      if (frameWidth >= widthMin) {
        frames.push({ node, depth, x, width: frameWidth });
        place(node.children, depth + 1, x);
      }
      x += frameWidth;
    }
  };
  place(threads, 0, margin);
  return frames;
}

function clipped(name: string, frameWidth: number): string {
  const characters = Math.floor((frameWidth - 6) / characterWidth);
  return name.length <= characters ? name : `${name.slice(0, Math.max(0, characters - 1))}…`;
}

function decimal(value: number): string {
  return value.toFixed(1);
}

function drawn({ node, depth, x, width: frameWidth }: Frame, total: number): string {
  const y = headHeight + depth * rowHeight;
  const share = ((100 * node.micros) / total).toFixed(1);
  const about = escapeXml(`${node.name}: ${(node.micros / 1000).toFixed(1)} ms, ${share} %`);
  const place = `x="${decimal(x)}" y="${y}" width="${decimal(frameWidth)}"`;
  const { colour } = owners[node.owner];
  const box = `<rect ${place} height="${rowHeight - 1}" rx="2" fill="${colour}"/>`;
  const name = escapeXml(clipped(node.name, frameWidth));
  const text =
    frameWidth < textWidthMin ? '' : `<text x="${decimal(x + 3)}" y="${y + 12}">${name}</text>`;
  return `<g><title>${about}</title>${box}${text}</g>`;
}

function legend(): string {
  let x = margin;
  return Object.values(owners)
    .map(({ title, colour }) => {
      const at = x;
      x += 24 + title.length * characterWidth;
      return (
        `<rect x="${decimal(at)}" y="38" width="12" height="12" rx="2" fill="${colour}"/>` +
        `<text x="${decimal(at + 16)}" y="48">${escapeXml(title)}</text>`
      );
    })
    .join('\n');
}

/**
 * A picture of where threads were busy: a document of its own that any browser shows. Pointing at a
 * frame tells its whole name, time and share.
 */
export function flameGraph(title: string, threads: readonly CallNode[]): string {
  const total = threads.reduce((sum, { micros }) => sum + micros, 0);
  const ms = Math.round(total / 1000).toLocaleString('en-US');
  const frames = framesOf(threads);
  const rows = frames.reduce((most, { depth }) => Math.max(most, depth + 1), 0);
  const height = headHeight + rows * rowHeight + margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">`,
    '<style>g:hover rect { stroke: #000; }</style>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${margin}" y="24" font-size="16">${escapeXml(`${title}: ${ms} ms busy`)}</text>`,
    legend(),
    ...frames.map((frame) => drawn(frame, total)),
    '</svg>',
    '',
  ].join('\n');
}
