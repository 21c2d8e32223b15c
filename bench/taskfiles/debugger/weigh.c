#include <stdio.h>

static int weigh(const int *weights, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += weights[i];
	return sum;
}

int main(void)
{
	int weights[3] = {10, 0, 30};
	FILE *key = fopen("key", "r");
	if (key == NULL || fscanf(key, "%d", &weights[1]) != 1)
		return 1;
	printf("all weigh %d\n", weigh(weights, 3));
	return 3;
}
