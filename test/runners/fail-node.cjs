const { test } = require('node:test');
globalThis.test = test;
require('./fail.cjs');
