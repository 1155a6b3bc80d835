// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "world.h"

#include <string.h>

/* The last is what the others are not. */
static const struct world_shape shapes[] = {
	/* Tables of many pages, and paths that cross them. */
	{.one_in = 64, .rules = 12, .components = 2, .name = 200, .glob = 2000},
	{.one_in = 32, .rules = WORLD_RULES, .components = 3, .name = 24, .glob = 16},
	{.one_in = 1, .rules = 12, .components = 4},
};

static const struct world_shape *draw_shape(void)
{
	const struct world_shape *shape = shapes;

	while (draw(shape->one_in))
		shape++;
	return shape;
}

char *world_keep(struct world *world, const struct text *text)
{
	char *kept = world->text + world->used;

	if (sizeof(world->text) - world->used <= text->n)
		return NULL;
	memcpy(kept, text->bytes, text->n + 1);
	world->used += text->n + 1;
	return kept;
}

/* A directory; often one that rules speak of. */
static char *draw_directory(struct world *world)
{
	struct text path;
	char *slash;

	text_clear(&path);
	if (draw(3))
		draw_path(world, &path);
	slash = strrchr(path.bytes, '/');
	if (slash && draw(2))
		*slash = '\0';
	if (path.bytes[0] != '/')
		strcpy(path.bytes, "/");
	path.n = strlen(path.bytes);
	return world_keep(world, &path);
}

static void draw_rules(struct world *world, size_t n)
{
	struct text glob;
	char *kept;

	for (; n; n--) {
		draw_glob(world->shape, &glob);
		/* Room for the mounts' paths is left. */
		if (world->used + glob.n > sizeof(world->text) / 2)
			return;
		kept = world_keep(world, &glob);
		/* Often alike, so that tails are shared. */
		world->rules[world->nrules++] = (struct rule){
			.effect = (enum rule_effect)draw(RULE_EFFECTS),
			.perms = 1 + draw(draw(2) ? 3 : BH_PERM_ALL),
			.links = !draw(6),
			.glob = kept,
		};
		/* As an exec rule has it. */
		if (!draw(3) && world->rules[world->nrules - 1].effect == RULE_ALLOW)
			world->rules[world->nrules - 1].perms |= BH_RULE_WRITTEN_INSIDE;
	}
}

void draw_world(struct world *world)
{
	size_t n;

	world->shape = draw_shape();
	world->nrules = world->nmounts = world->used = 0;
	draw_rules(world, 1 + draw(world->shape->rules));
	for (n = draw(WORLD_MOUNTS + 1); n; n--) {
		char *root = draw_directory(world), *point = draw_directory(world);

		if (root && point)
			world->mounts[world->nmounts++] =
				(struct mount_view){1 + draw(WORLD_SUPERBLOCKS - 1), root, point};
	}
}

/* Takes a path as people see it to where it stands on a superblock, through some mount of it. */
static __u32 place_on_mount(const struct world *world, struct text *path)
{
	const struct mount_view *mount;
	char seen[TEXT_SIZE];
	size_t length;

	if (path->bytes[0] != '/')
		return 0;
	if (!draw(100))
		return WORLD_SUPERBLOCKS;
	if (!world->nmounts || !draw(4))
		return 0;
	mount = &world->mounts[draw((unsigned int)world->nmounts)];
	length = strcmp(mount->point, "/") ? strlen(mount->point) : 0;
	if (draw(8) && !strncmp(path->bytes, mount->point, length)) {
		strcpy(seen, path->bytes + length);
		text_clear(path);
		put(path, mount->root);
		put(path, "/");
		put(path, seen);
		clean_path(path);
	}
	return mount->sbid;
}

void draw_question(const struct world *world, struct question *question)
{
	draw_path(world, &question->path);
	question->sbid = place_on_mount(world, &question->path);
	question->asked = 1 + draw(draw(2) ? 3 : BH_PERM_ALL);
	question->inode = (enum inode_kind)draw(INODE_KINDS);
	if (!question->sbid || !strcmp(question->path.bytes, "/"))
		question->inode = INODE_NONE;
}
