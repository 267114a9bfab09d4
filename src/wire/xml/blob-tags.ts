import { checkTags, type Tag, type Tags } from '../../model/blobs/tags.js';
import { invalidXmlDocument } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { childrenOf, expectRoot, itemsOf, textOf } from './content-model.js';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml, type XmlElement } from './reader.js';

/** The tags of a blob as an element, also of an item of a list (blob-service §15.4). */
export function blobTagsElement(tags: Tags): string {
  return element('Tags', element('TagSet', tags.map(renderTag).join('')));
}

function renderTag([name, value]: Tag): string {
  return element('Tag', textElement('Key', name) + textElement('Value', value));
}

/** The body of Get Blob Tags. */
export function renderBlobTags(tags: Tags): Buffer {
  return xmlDocument(blobTagsElement(tags));
}

/**
 * The tags in the body of Set Blob Tags, in their order; empty for an empty set.
 *
 * @throws {StorageError} `InvalidXmlDocument` for another document; `TagsTooLarge`, `EmptyTagName`,
 * `InvalidTag`, `DuplicateTagNames`
 */
export function parseBlobTags(body: Buffer): Tags {
  const root = parseXml(body);
  const tags = asDocument(() => tagsOf(root));
  checkTags(tags);
  return tags;
}

/** Faults of elements have no code of their own here. */
function asDocument<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new StorageError('InvalidXmlDocument', { details: error.details, cause: error });
  }
}

function tagsOf(root: XmlElement): Tags {
  expectRoot(root, 'Tags');
  const set = childrenOf(root, ['TagSet']).get('TagSet');
  if (set === undefined) throw invalidXmlDocument('Tags holds no TagSet.');
  return itemsOf(set, 'Tag').map(tagOf);
}

function tagOf(item: XmlElement): Tag {
  const children = childrenOf(item, ['Key', 'Value']);
  const [name, value] = [children.get('Key'), children.get('Value')];
  if (name === undefined || value === undefined) {
    throw invalidXmlDocument('A Tag holds a Key and a Value.');
  }
  return [textOf(name), textOf(value)];
}
