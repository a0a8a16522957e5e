/**
 * The ids in all examples. Each record keeps its id, so the examples read as one story about a backend and a web page
 * of one tenant.
 */
export const TENANT_ID = '51c61fee-f40d-451c-875f-29f26cd9a6e8';
export const OWNER_ID = '773247be-9eb5-4c60-89f8-29410f6be0db';
export const MANAGEMENT_ID = '5fc1d3a0-33ec-43ef-87c0-644722bdfe82';
export const PRIVATE_ID = '203548f1-1a78-4e29-8fc5-c16848d9df23';
export const PUBLIC_ID = '91c21f25-11f4-467a-8d3e-bf30cd94e0ef';

/** Returns a time on the day of the story. */
export const at = (time: string) => `2026-03-01T${time}:00.000+00:00`;
export const CARD_ID = '019ca8b2-8a40-7019-8712-5c8abd9126b4';
