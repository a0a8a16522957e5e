#!/usr/bin/env node
// The second name of `vault`, for machines that have another program called so.
require('./vault.js');
