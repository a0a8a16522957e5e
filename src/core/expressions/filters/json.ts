import { defineFilter } from '../filter.ts';

export const JSON_FILTERS = {
  json: defineFilter({
    input: 'value_or_null',
    parameters: { path: { kind: 'json_path' } },
    apply: (value, { path }, tools) => {
      if (tools.queryJson === undefined)
        throw new Error('unreachable: JSONPath is loaded before a template that names json');
      return tools.queryJson(path, value, tools);
    },
  }),
};
