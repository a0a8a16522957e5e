jest.useFakeTimers({ now: 0 });
require('./jest.cjs');
