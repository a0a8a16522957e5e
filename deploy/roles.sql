-- Creates the role of the daemons. The image of PostgreSQL runs this file once, as the owner of the new database.
\getenv password DAEMON_PASSWORD
CREATE ROLE vault_daemon LOGIN PASSWORD :'password';
