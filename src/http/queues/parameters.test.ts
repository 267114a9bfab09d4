import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { byLowerName, parseQueryString, type QueryOptions } from '../../wire/http/query-string.js';
import {
  dequeueVisibilityOf,
  messageCountOf,
  popReceiptOf,
  putVisibilityOf,
  timeToLiveOf,
  updateVisibilityOf,
} from './parameters.js';

const newest = '2021-12-02';

/** A parameter in a version: its value, or the error. */
interface Parameter {
  readonly name: string;
  read(query: QueryOptions, version: string): unknown;
}

const count: Parameter = { name: 'numofmessages', read: messageCountOf };
const getVisibility: Parameter = { name: 'visibilitytimeout', read: dequeueVisibilityOf };
const putVisibility: Parameter = { name: 'visibilitytimeout', read: putVisibilityOf };
const updateVisibility: Parameter = { name: 'visibilitytimeout', read: updateVisibilityOf };
const timeToLive: Parameter = { name: 'messagettl', read: timeToLiveOf };
const popReceipt: Parameter = { name: 'popreceipt', read: popReceiptOf };

function read(parameter: Parameter, query: string, version: string): unknown {
  return parameter.read(byLowerName(parseQueryString(query)), version);
}

const accepted: readonly [Parameter, query: string, value: unknown, version?: string][] = [
  [count, '', 1],
  [count, 'numofmessages=1', 1],
  [count, 'numofmessages=32', 32],
  [count, 'NumOfMessages=7', 7],
  [count, 'numofmessages=007', 7],
  [count, 'numofmessages=2&numofmessages=3', 2],
  [getVisibility, '', 30],
  [getVisibility, 'visibilitytimeout=1', 1],
  [getVisibility, 'visibilitytimeout=604800', 604_800],
  [getVisibility, 'visibilitytimeout=7200', 7200, '2009-09-19'],
  [putVisibility, '', 0],
  [putVisibility, 'visibilitytimeout=0', 0],
  [putVisibility, 'visibilitytimeout=604800', 604_800],
  [putVisibility, 'visibilitytimeout=5', 5, '2011-08-18'],
  [putVisibility, 'visibilitytimeout=5', 0, '2009-09-19'],
  [updateVisibility, 'visibilitytimeout=0', 0],
  [updateVisibility, 'visibilitytimeout=604800', 604_800],
  [timeToLive, '', 604_800],
  [timeToLive, 'messagettl=1', 1],
  [timeToLive, 'messagettl=-1', Infinity],
  [timeToLive, 'messagettl=-1', Infinity, '2017-07-29'],
  [timeToLive, 'messagettl=604801', 604_801],
  [timeToLive, 'messagettl=99999999999999', 99_999_999_999_999],
  [timeToLive, 'messagettl=604800', 604_800, '2017-04-17'],
  [popReceipt, 'popreceipt=a%2Bb%3D', 'a+b='],
  [popReceipt, 'PopReceipt=x', 'x'],
];

const notAnInteger = ['x', '', '1.5', '1e3', '0x10', '1 ', '+1', '--1', '\u0661'];

/** Bounds that the error contains. */
type Range = readonly [min: number, max: number];

const outOfRange: readonly [Parameter, value: string, Range, version?: string][] = [
  [count, '0', [1, 32]],
  [count, '33', [1, 32]],
  [count, '-1', [1, 32]],
  [count, '99999999999999999999999', [1, 32]],
  [getVisibility, '0', [1, 604_800]],
  [getVisibility, '604801', [1, 604_800]],
  [getVisibility, '-5', [1, 604_800]],
  [getVisibility, '7201', [1, 7200], '2009-09-19'],
  [putVisibility, '-1', [0, 604_800]],
  [putVisibility, '604801', [0, 604_800]],
  [updateVisibility, '-1', [0, 604_800]],
  [updateVisibility, '604801', [0, 604_800]],
  [timeToLive, '604801', [1, 604_800], '2017-04-17'],
];

const invalid: readonly [Parameter, value: string, version?: string][] = [
  [timeToLive, '0'],
  [timeToLive, '-2'],
  [timeToLive, '0', '2017-04-17'],
  [timeToLive, '-1', '2017-04-17'],
];

function assertRefused(
  parameter: Parameter,
  query: string,
  version: string,
  expected: { readonly code: string; readonly details: readonly (readonly string[])[] },
): void {
  assert.throws(
    () => read(parameter, query, version),
    (error: unknown) => {
      assert.ok(error instanceof StorageError);
      assert.equal(error.code, expected.code);
      assert.deepEqual(error.details.slice(0, expected.details.length), expected.details);
      return true;
    },
  );
}

function named(name: string, value: string): (readonly string[])[] {
  return [
    ['QueryParameterName', name],
    ['QueryParameterValue', value],
  ];
}

describe('a parameter of a message', () => {
  for (const [parameter, query, value, version = newest] of accepted) {
    it(`${query === '' ? `absent ${parameter.name}` : query} is ${String(value)} in ${version}`, () => {
      assert.equal(read(parameter, query, version), value);
    });
  }

  for (const parameter of [count, getVisibility, putVisibility, updateVisibility, timeToLive]) {
    for (const value of notAnInteger) {
      it(`${parameter.name} '${value}' is no integer`, () => {
        const query = `${parameter.name}=${encodeURIComponent(value)}`;
        const details = named(parameter.name, value);
        assertRefused(parameter, query, newest, { code: 'InvalidQueryParameterValue', details });
      });
    }
  }

  for (const [parameter, value, [min, max], version = newest] of outOfRange) {
    it(`${parameter.name}=${value} is not from ${min} to ${max} in ${version}`, () => {
      assertRefused(parameter, `${parameter.name}=${value}`, version, {
        code: 'OutOfRangeQueryParameterValue',
        details: [
          ...named(parameter.name, value),
          ['MinimumAllowed', String(min)],
          ['MaximumAllowed', String(max)],
        ],
      });
    });
  }

  for (const [parameter, value, version = newest] of invalid) {
    it(`${parameter.name}=${value} makes no sense in ${version}`, () => {
      const details = named(parameter.name, value);
      assertRefused(parameter, `${parameter.name}=${value}`, version, {
        code: 'InvalidQueryParameterValue',
        details,
      });
    });
  }

  for (const parameter of [updateVisibility, popReceipt]) {
    it(`${parameter.name} must be there`, () => {
      assertRefused(parameter, 'timeout=30', newest, {
        code: 'MissingRequiredQueryParameter',
        details: [['QueryParameterName', parameter.name]],
      });
    });
  }
});
