import {
  binaryBytesMax,
  keyUnitsMax,
  rowBytesMax,
  rowPropertiesMax,
  stringUnitsMax,
} from '../../rows/row-size.js';
import type { Advice } from '../findings/advice.js';
import { assumedUnits } from '../sizes/entity-size.js';
import { finding, type Finding } from '../findings/finding.js';
import type { RowSet } from '../plans/row-set.js';

/** Entities, properties and keys beyond the limits. */
export function sizeFindings({ rowSets }: Advice): readonly Finding[] {
  const { entities, indexes } = rowSets;
  const assumed = new Set([entities, ...indexes].flatMap(({ size }) => size.assumed));
  return [
    ...[entities, ...indexes].flatMap(ofRowSet),
    ...(assumed.size === 0
      ? []
      : [
          finding('info', 'sizes-assumed', entities.name, {
            properties: [...assumed].join(', '),
            units: assumedUnits,
          }),
        ]),
  ];
}

function ofRowSet(rowSet: RowSet): readonly Finding[] {
  const { name, size } = rowSet;
  const { bytes, properties } = size;
  const found: Finding[] = [];
  const inParts = size.fields.filter(({ isLarge }) => isLarge);
  const inRow = inParts.reduce((sum, field) => sum - field.bytes.maximum, bytes.maximum);
  if (inRow > rowBytesMax) {
    const figures = { bytes: inRow, limit: rowBytesMax };
    found.push(finding('error', 'entity-too-large', name, figures));
  }
  if (properties > rowPropertiesMax) {
    const figures = { properties, limit: rowPropertiesMax };
    found.push(finding('error', 'too-many-properties', name, figures));
  }
  return [...found, ...propertyFindings(rowSet), ...keyFindings(rowSet)];
}

function propertyFindings({ size, index }: RowSet): readonly Finding[] {
  // Properties of a copy are reported for the entity.
  if (index !== undefined) return [];
  return size.fields.flatMap(({ property, content, units, isLarge }) => {
    const limit = content === 'text' ? stringUnitsMax : binaryBytesMax;
    if (content === 'fixed' || isLarge || units.maximum <= limit) return [];
    const bytes = content === 'text' ? 2 * units.maximum : units.maximum;
    const figures = { property, bytes, limit: binaryBytesMax };
    return [finding('error', 'property-too-large', `property '${property}'`, figures)];
  });
}

function keyFindings({ name, size, index }: RowSet): readonly Finding[] {
  if (index?.place === 'blob') return [];
  const keys = [
    { key: 'PartitionKey', units: size.partitionKey.maximum },
    { key: 'RowKey', units: size.rowKey.maximum },
  ] as const;
  return keys.flatMap(({ key, units }) => {
    if (units <= keyUnitsMax) return [];
    return [
      finding('error', 'key-too-long', `${key} of ${name}`, { key, units, limit: keyUnitsMax }),
    ];
  });
}
