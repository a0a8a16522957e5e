const clock = require('sinon').useFakeTimers({ now: 0 });
require('./mocha.cjs');
clock.restore();
